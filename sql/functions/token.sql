-- SPDX-License-Identifier: Apache-2.0
-- Tokens. The database sees SHA-256 only; an id is its first hex digits.

CREATE OR REPLACE FUNCTION token_create(p_sha bytea, p_owner text, p_scopes text[], p_days int, p_note text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_owner bigint;
BEGIN
    INSERT INTO owners (name) VALUES (p_owner) ON CONFLICT (name) DO NOTHING;
    SELECT id INTO v_owner FROM owners WHERE name = p_owner AND kind <> 'anonymous';
    IF NOT FOUND THEN
        RAISE EXCEPTION 'cannot create a token of %: nobody is anonymous by token', p_owner USING ERRCODE = 'PX409';
    END IF;
    INSERT INTO tokens (sha256, owner_id, scopes, note, expires_at)
    VALUES (p_sha, v_owner, p_scopes, p_note, CASE WHEN p_days > 0 THEN now() + p_days * interval '1 day' END);
    INSERT INTO audit (action, subject) VALUES ('token_create', left(encode(p_sha, 'hex'), 16));
END $$;

-- last_used_at is for people: a minute's precision spares a write per request.
CREATE OR REPLACE FUNCTION token_lookup(p_sha bytea) RETURNS TABLE (owner_id bigint, owner text, scopes text)
LANGUAGE plpgsql ROWS 1 AS $$
BEGIN
    UPDATE tokens t SET last_used_at = now()
     WHERE t.sha256 = p_sha AND (t.last_used_at IS NULL OR t.last_used_at < now() - interval '1 minute');
    RETURN QUERY
    SELECT o.id, o.name, array_to_string(t.scopes, ',')
      FROM tokens t JOIN owners o ON o.id = t.owner_id
     WHERE t.sha256 = p_sha AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now());
END $$;

CREATE OR REPLACE FUNCTION token_revoke(p_id text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_sha bytea[];
BEGIN
    v_sha := ARRAY(SELECT sha256 FROM tokens
                    WHERE encode(sha256, 'hex') LIKE p_id || '%' AND revoked_at IS NULL AND length(p_id) >= 8);
    IF cardinality(v_sha) > 1 THEN
        RAISE EXCEPTION 'cannot revoke %: it names % tokens', p_id, cardinality(v_sha) USING ERRCODE = 'PX409';
    END IF;
    UPDATE tokens SET revoked_at = now() WHERE sha256 = ANY (v_sha);
    INSERT INTO audit (action, subject) SELECT 'token_revoke', p_id WHERE cardinality(v_sha) = 1;
    RETURN cardinality(v_sha) = 1;
END $$;

CREATE OR REPLACE FUNCTION token_list() RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN jsonb_build_object('items', (
        SELECT coalesce(jsonb_agg(jsonb_build_object(
                   'id', left(encode(t.sha256, 'hex'), 16), 'owner', o.name, 'scopes', to_jsonb(t.scopes),
                   'note', t.note, 'created_at', iso8601(t.created_at), 'expires_at', iso8601(t.expires_at),
                   'revoked_at', iso8601(t.revoked_at), 'last_used_at', iso8601(t.last_used_at))
               ORDER BY t.created_at), '[]')
          FROM tokens t JOIN owners o ON o.id = t.owner_id));
END $$;
