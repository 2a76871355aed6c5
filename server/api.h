/* SPDX-License-Identifier: Apache-2.0
 * Every handler of the routes table, by the file that holds it. Included by routes.c and by those
 * files. */
#ifndef SERVER_API_H
#define SERVER_API_H

#include "server/request.h"

struct tokenizer;

/* api_submit.c */
handler_fn submissions_create;
/* api_submissions.c */
handler_fn submissions_list, submission_get;
/* api_artefacts.c */
handler_fn submission_source, submission_ptx, submission_cubin, submission_log, submission_report;
/* api_actions.c */
handler_fn submission_cancel, submission_rerun, submission_hide, submission_unhide;
/* api_events.c */
handler_fn submission_events, run_events;
/* api_catalog.c */
handler_fn problems_list, problem_get, archs_list, arch_get;
/* api_prompts.c */
handler_fn prompts_list, prompt_preview;
const struct tokenizer *prompts_tokenizer(void); /* NULL: there is none, tokens are estimated */
/* api_runs.c */
handler_fn run_start_post, run_list_get, run_document_get;
/* api_run_files.c */
handler_fn run_trajectory_get, run_messages_get, run_export_get, run_trajectory_export_get,
    run_import_post;
/* api_runs_actions.c */
handler_fn run_cancel_post, run_resume_post, run_extend_post, run_supervision_post;
/* api_board.c */
handler_fn leaderboard_get, queue_get, workers_get;
/* api_board_html.c */
handler_fn board_html_get;
/* api_published_html.c */
handler_fn published_html_get;
/* api_turns.c */
handler_fn turn_correctness_get, fast_p_get, transitions_get;
/* api_health.c */
handler_fn health_get, ready_get, version_get;
/* openapi.c */
handler_fn index_get, openapi_get;

#endif
