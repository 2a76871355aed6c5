-- SPDX-License-Identifier: Apache-2.0
-- A GPU host need not be trusted with the database: the role ptxbench_worker may call the SECURITY DEFINER
-- functions, each with a fixed search_path, and nothing else. `GRANT ptxbench_worker TO some_login` arms
-- it. Where the owner of the database may not create roles there is none, and workers log in as owner.
-- Laid last: its name sorts after the files that define the functions.
DO $$
DECLARE
    f regprocedure;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'ptxbench_worker')
       AND (SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user) THEN
        BEGIN
            CREATE ROLE ptxbench_worker NOLOGIN;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;       -- another database of this cluster was faster
        END;
    END IF;
    FOR f IN
        SELECT p.oid::regprocedure FROM pg_proc p
         WHERE p.pronamespace = 'public'::regnamespace AND p.prosecdef AND p.proowner = current_user::regrole
    LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', f);
        IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'ptxbench_worker') THEN
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO ptxbench_worker', f);
        END IF;
    END LOOP;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'ptxbench_worker') THEN
        GRANT SELECT ON schema_migrations TO ptxbench_worker;      -- to refuse a schema it does not know
    END IF;
END $$;
