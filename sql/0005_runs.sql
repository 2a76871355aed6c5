-- SPDX-License-Identifier: Apache-2.0
-- Agent runs: what was asked for, where each trajectory stands, every call of a model, every step. A step is
-- one try at a turn: a call whose answer is stored, the submission made of it, the feedback. A row of `turns`
-- appears when a step has its label. Lanes of steps are named llm/<provider>.

ALTER TABLE jobs DROP CONSTRAINT jobs_kind_check,
                 ADD CONSTRAINT jobs_kind_check CHECK (kind IN ('evaluate', 'call', 'conclude'));
ALTER TABLE blobs DROP CONSTRAINT blobs_kind_check,
                  ADD CONSTRAINT blobs_kind_check
                  CHECK (kind IN ('source', 'report', 'ptx', 'cubin', 'log', 'prompt', 'messages', 'answer', 'reasoning'));

-- Topics are submissions and runs.
ALTER TABLE events DROP CONSTRAINT events_topic_fkey;

-- Published runs have none of these.
ALTER TABLE runs
    ADD COLUMN problem text, ADD COLUMN workload text, ADD COLUMN arch text, ADD COLUMN device text,
    ADD COLUMN provider text, ADD COLUMN model text, ADD COLUMN condition text NOT NULL DEFAULT '',
    ADD COLUMN params json, ADD COLUMN history text, ADD COLUMN feedback text,
    ADD COLUMN per_variant integer, ADD COLUMN target float8,
    ADD COLUMN max_tokens bigint, ADD COLUMN max_usd float8,          -- budgets; null: none
    ADD COLUMN visibility text NOT NULL DEFAULT 'public' CHECK (visibility IN ('public', 'private')),
    ADD COLUMN state text NOT NULL DEFAULT 'done' CHECK (state IN ('running', 'done')),
    ADD COLUMN reason text,                                           -- why it is done, if not by itself
    ADD COLUMN rev integer NOT NULL DEFAULT 0,
    ADD COLUMN tokens_in bigint NOT NULL DEFAULT 0, ADD COLUMN tokens_out bigint NOT NULL DEFAULT 0,
    ADD COLUMN usd float8 NOT NULL DEFAULT 0, ADD COLUMN calls integer NOT NULL DEFAULT 0,
    ADD COLUMN finished_at timestamptz;
CREATE INDEX runs_owner ON runs (owner_id, created_at) WHERE origin = 'local';
CREATE INDEX runs_recent ON runs (created_at) WHERE origin = 'local';

-- What the trajectories of a variant are sent first; kept, so that a newer installation changes no begun run.
CREATE TABLE run_prompts (
    run_id     uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
    variant    integer NOT NULL CHECK (variant >= 0),
    name       text NOT NULL,
    system_sha bytea NOT NULL REFERENCES blobs,
    task_sha   bytea NOT NULL REFERENCES blobs,
    tokens     integer NOT NULL,
    estimated  boolean NOT NULL,
    PRIMARY KEY (run_id, variant)
);

-- reason, once done: turns, target, context (the next call would not fit), or what is not the model's doing:
-- cancelled, budget, provider, infra. The first three count in a cell; the others are left out and can be
-- resumed.
ALTER TABLE trajectories
    ADD COLUMN state  text NOT NULL DEFAULT 'done' CHECK (state IN ('running', 'done')),
    ADD COLUMN reason text CHECK (reason IN ('turns', 'target', 'context', 'cancelled', 'budget', 'provider', 'infra')),
    ADD COLUMN detail text;

CREATE TABLE llm_calls (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id         uuid NOT NULL,
    trajectory     integer NOT NULL,
    n              integer NOT NULL,
    try            integer NOT NULL,                 -- of the step that it was made for
    status         text NOT NULL DEFAULT 'started' CHECK (status IN ('started', 'stored', 'partial', 'failed')),
    provider       text NOT NULL,
    model          text NOT NULL,
    agent          text NOT NULL,
    request_sha    bytea NOT NULL REFERENCES blobs,  -- the messages, canonical JSON
    answer_sha     bytea REFERENCES blobs,
    reasoning_sha  bytea REFERENCES blobs,
    blocks         json,                             -- what must go back as it came
    finish         text,
    tokens_in      bigint, cached bigint, cache_write bigint, tokens_out bigint, reasoning_tokens bigint,
    usd            float8,                           -- null: not known
    held_tokens    bigint NOT NULL DEFAULT 0,        -- what it may cost at most, while it is under way
    held_usd       float8 NOT NULL DEFAULT 0,
    http_status    integer,
    error          text,
    started_at     timestamptz NOT NULL DEFAULT now(),
    finished_at    timestamptz,
    FOREIGN KEY (run_id, trajectory) REFERENCES trajectories ON DELETE CASCADE,
    CONSTRAINT stored_has_answer CHECK ((status = 'stored') <= (answer_sha IS NOT NULL)),
    CONSTRAINT finished_iff_not_started CHECK ((status = 'started') = (finished_at IS NULL))
);
CREATE INDEX llm_calls_run ON llm_calls (run_id, trajectory, n, try);
CREATE INDEX llm_calls_open ON llm_calls (run_id) WHERE status = 'started';

CREATE TABLE steps (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id           uuid NOT NULL,
    trajectory       integer NOT NULL,
    n                integer NOT NULL CHECK (n >= 0),
    try              integer NOT NULL DEFAULT 0,
    state            text NOT NULL DEFAULT 'call' CHECK (state IN ('call', 'evaluate', 'conclude', 'done', 'left')),
    call_id          bigint REFERENCES llm_calls,    -- with a stored answer; a later try takes it over
    extraction       text,                           -- core/extract.h: kernel, no_block, no_kernel, cut, too_large
    source_sha       bytea REFERENCES blobs,
    errors           json,                           -- why the kernel was not taken: [{path, detail}]
    submission_id    uuid REFERENCES submissions,
    feedback         json,
    feedback_text    text,                           -- as the next message says it
    supervision      text,                           -- what a person or a program adds to it; never read for labels
    created_at       timestamptz NOT NULL DEFAULT now(),
    finished_at      timestamptz,
    UNIQUE (run_id, trajectory, n, try),
    FOREIGN KEY (run_id, trajectory) REFERENCES trajectories ON DELETE CASCADE
);
CREATE UNIQUE INDEX steps_submission ON steps (submission_id) WHERE submission_id IS NOT NULL;
-- A trajectory is at one place at a time.
CREATE UNIQUE INDEX steps_open ON steps (run_id, trajectory) WHERE state IN ('call', 'evaluate', 'conclude');
