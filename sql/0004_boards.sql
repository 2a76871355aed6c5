-- SPDX-License-Identifier: Apache-2.0
-- Boards, kept as results come: one row per entry with its best result, so that reading a board of 20,000
-- entries reads only what it shows. Triggers keep them (functions/board_keep.sql); board_check() recomputes
-- and compares. A board has one baseline: speedups over different ones say nothing about each other.

CREATE TABLE boards (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    problem      text NOT NULL,
    workload     text NOT NULL,
    arch         text NOT NULL,
    device_model text NOT NULL,
    epoch        integer NOT NULL,
    baseline     text NOT NULL,             -- its name; '' where nothing was timed
    UNIQUE (problem, workload, arch, device_model, epoch, baseline)
);

-- An entry is what one owner calls by one label and method; a source without a label stands for itself.
-- item: what a board says of it, but for its rank and attempts; written once, since nothing in it changes.
CREATE TABLE board_entries (
    board_id            bigint NOT NULL REFERENCES boards,
    owner_id            bigint NOT NULL REFERENCES owners,
    entry               text NOT NULL,
    method              text NOT NULL,
    submission_id       uuid NOT NULL REFERENCES submissions,
    evaluation_id       bigint NOT NULL REFERENCES results,
    speedup             float8,
    ci_lo               float8,
    ci_hi               float8,
    thread_instructions bigint,
    attempts            integer NOT NULL,
    item                text NOT NULL,
    PRIMARY KEY (board_id, owner_id, entry, method)
) WITH (fillfactor = 80);
CREATE INDEX board_entries_order ON board_entries
    (board_id, speedup DESC NULLS LAST, thread_instructions, submission_id) INCLUDE (ci_lo, ci_hi);
CREATE INDEX board_entries_submission ON board_entries (submission_id);

-- How often an entry was judged, passed or not: best of N is not the same as one try. Its row is the lock
-- under which the entry changes.
CREATE TABLE board_attempts (
    problem  text NOT NULL,
    workload text NOT NULL,
    arch     text NOT NULL,
    owner_id bigint NOT NULL REFERENCES owners,
    entry    text NOT NULL,
    method   text NOT NULL,
    attempts integer NOT NULL,
    PRIMARY KEY (problem, workload, arch, owner_id, entry, method)
) WITH (fillfactor = 70);

-- What an operator took off the boards, and why: for everybody to read.
CREATE TABLE hidden_submissions (
    submission_id uuid PRIMARY KEY REFERENCES submissions,
    reason        text NOT NULL CHECK (length(reason) BETWEEN 1 AND 500),
    hidden_at     timestamptz NOT NULL DEFAULT now()
);

-- All submissions of an entry; what the boards were before.
CREATE INDEX submissions_entry ON submissions
    (problem, workload, arch, owner_id, (coalesce(label, encode(source_sha, 'hex'))), (coalesce(method, '')))
    WHERE mode = 'rank' AND visibility = 'public';
DROP INDEX submissions_board;
DROP VIEW IF EXISTS ranked_submissions;
DROP FUNCTION IF EXISTS leaderboard(text, text, text, text, int, int);

-- A view over more than one cell reads the rollup; one cell's curves and medians read only this index.
DROP INDEX turns_cell;
CREATE INDEX turns_cell ON turns (cell_id, variant, n) INCLUDE (speedup, inst, reasoning_tokens)
    WHERE counted AND cell_id IS NOT NULL;
