-- SPDX-License-Identifier: Apache-2.0
-- Items of boards are written without spaces, and say how often target instructions ran.
-- functions/board_keep.sql fills boards that are empty.

ALTER TABLE results ADD COLUMN target_counts jsonb;     -- of each family that ran: warps' instructions; null: not counted
TRUNCATE board_entries, board_attempts;
