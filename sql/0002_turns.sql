-- SPDX-License-Identifier: Apache-2.0
-- Turns: what models did, and what the paper published of it. A run is one model on one problem; a
-- trajectory is a chain of turns; a turn is one answer and its verdict. A cell is one cell of the paper's
-- tables: all counted trajectories of one model under one condition on one workload and device.

CREATE TABLE cells (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    origin       text NOT NULL CHECK (origin IN ('published', 'local')),
    model        text NOT NULL CHECK (model <> ''),
    device_model text NOT NULL,
    problem      text NOT NULL,
    workload     text NOT NULL,
    condition    text NOT NULL DEFAULT '',  -- what was done differently, such as 'w/o expert guidance'
    UNIQUE (origin, model, device_model, problem, workload, condition)
);

CREATE TABLE runs (
    id         uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    owner_id   bigint NOT NULL DEFAULT 0 REFERENCES owners,
    origin     text NOT NULL CHECK (origin IN ('published', 'local')),
    name       text NOT NULL,               -- published: the run's folder
    source     text,                        -- published: where it was published
    turns      integer NOT NULL DEFAULT 8 CHECK (turns BETWEEN 1 AND 1000),   -- per trajectory, nominal
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX runs_published ON runs (name) WHERE origin = 'published';

-- cell_id null: recorded, but in no cell (the paper counts 12 of 20 trajectories; `left_out` says why).
-- variant: which of the prompts it was given.
CREATE TABLE trajectories (
    run_id   uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
    n        integer NOT NULL CHECK (n >= 0),
    variant  integer NOT NULL CHECK (variant >= 0),
    cell_id  bigint REFERENCES cells,
    left_out text,
    PRIMARY KEY (run_id, n),
    CONSTRAINT counted_or_told_why CHECK ((cell_id IS NULL) = (left_out IS NOT NULL))
);
CREATE INDEX trajectories_cell ON trajectories (cell_id, variant);

-- One try at turn n. Of the tries of a turn only one counts: a try that our own fault ended is kept and not
-- counted. label: core/labels.def. inst null: not known whether target instructions were executed, which
-- counts for neither side. speedup only of correct turns. cell_id and variant are those of the trajectory.
CREATE TABLE turns (
    run_id           uuid NOT NULL,
    trajectory       integer NOT NULL,
    n                integer NOT NULL CHECK (n >= 0),
    try              integer NOT NULL DEFAULT 0,
    counted          boolean NOT NULL DEFAULT true,
    cell_id          bigint,
    variant          integer NOT NULL,
    label            text NOT NULL,
    prev_label       text NOT NULL DEFAULT '',     -- of the turn before; '' at the first
    correct          boolean NOT NULL,
    inst             boolean,
    speedup          float8,
    reasoning_tokens integer,
    PRIMARY KEY (run_id, trajectory, n, try),
    FOREIGN KEY (run_id, trajectory) REFERENCES trajectories ON DELETE CASCADE,
    CONSTRAINT speedup_of_correct CHECK (speedup IS NULL OR (correct AND speedup > 0))
);
CREATE UNIQUE INDEX turns_counted ON turns (run_id, trajectory, n) WHERE counted;
CREATE INDEX turns_cell ON turns (cell_id, variant, n) WHERE counted AND cell_id IS NOT NULL;

-- The rollups that all views of more than one cell read. Triggers keep them in the transaction that writes
-- turns; turn_counts_check() recomputes and compares.
CREATE TABLE turn_counts (
    cell_id      bigint NOT NULL REFERENCES cells ON DELETE CASCADE,
    variant      integer NOT NULL,
    n            integer NOT NULL,
    turns        integer NOT NULL,
    correct      integer NOT NULL,
    inst_true    integer NOT NULL,                 -- correct and target instructions executed
    inst_unknown integer NOT NULL,                 -- correct and not known
    best         float8,
    best_inst    float8,
    PRIMARY KEY (cell_id, variant, n)
) WITH (fillfactor = 50);

CREATE TABLE label_counts (
    cell_id      bigint NOT NULL REFERENCES cells ON DELETE CASCADE,
    n            integer NOT NULL,
    label        text NOT NULL,
    prev_label   text NOT NULL,
    turns        integer NOT NULL,
    PRIMARY KEY (cell_id, n, label, prev_label)
) WITH (fillfactor = 50);

CREATE TABLE variant_counts (
    cell_id      bigint NOT NULL REFERENCES cells ON DELETE CASCADE,
    variant      integer NOT NULL,
    trajectories integer NOT NULL,
    PRIMARY KEY (cell_id, variant)
) WITH (fillfactor = 70);

-- Counts that the paper prints and its published turns do not give: they replace the computed number of
-- target turns at one limit, and say so.
CREATE TABLE overrides (
    cell_id      bigint NOT NULL REFERENCES cells ON DELETE CASCADE,
    turn_limit   integer NOT NULL,
    target_turns bigint NOT NULL,
    source       text NOT NULL,
    PRIMARY KEY (cell_id, turn_limit)
);
