-- SPDX-License-Identifier: Apache-2.0
-- Items of boards are written without spaces. functions/board_keep.sql fills boards that are empty.

TRUNCATE board_entries, board_attempts;
