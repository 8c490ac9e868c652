SELECT 'meta ' || hub || ' ' || epoch || ' ' || created FROM meta;
SELECT 'person ' || uid || ' ' || name || ' ' || created FROM person ORDER BY id;
SELECT 'source ' || id || ' ' || plugin || ' ' || quote(device) || ' ' || quote(account) FROM source ORDER BY id;
SELECT 'sample ' || number || ' ' || seq || ' ' || source || ' ' || key || ' ' || (SELECT text FROM term WHERE id = type) || ' ' || kind
    || ' ' || quote((SELECT name FROM person WHERE id = person)) || ' ' || quote((SELECT text FROM term WHERE id = unassigned))
    || ' ' || start || ' ' || duration || ' ' || quote(start_offset) || ' ' || quote(end_offset)
    || ' ' || quote((SELECT text FROM term WHERE id = zone)) || ' ' || quote(value) || ' ' || quote((SELECT text FROM term WHERE id = unit))
    || ' ' || quote(original_value) || ' ' || quote((SELECT text FROM term WHERE id = original_unit))
    || ' ' || quote((SELECT text FROM term WHERE id = name)) || ' ' || quote(raw) || ' ' || quote(content)
    || ' ' || quote(grouping) || ' ' || provenance || ' ' || quote(metadata) || ' ' || quote(source_version) || ' ' || recorded_at
    || ' ' || quote(retracted) || ' ' || quote(retraction_reason) || ' ' || quote(retraction_version)
    FROM sample ORDER BY number;
SELECT 'sample_version ' || number || ' ' || seq || ' ' || source || ' ' || key || ' ' || (SELECT text FROM term WHERE id = type)
    || ' ' || quote(value) || ' ' || start || ' ' || quote(source_version) || ' ' || recorded_at
    || ' ' || quote(retracted) || ' ' || quote(retraction_reason) || ' ' || quote(retraction_version)
    FROM sample_version ORDER BY number, seq;
SELECT 'day ' || number || ' ' || seq || ' ' || date || ' ' || (SELECT text FROM term WHERE id = series) || ' ' || quote(value)
    || ' ' || (SELECT text FROM term WHERE id = unit) || ' ' || (SELECT text FROM term WHERE id = method) || ' ' || quote(replace(basis, char(10), ','))
    || ' ' || quote(retracted) || ' ' || quote(retraction_reason) || ' ' || recorded_at
    FROM day ORDER BY number;
SELECT 'day_version ' || number || ' ' || seq || ' ' || quote(value) || ' ' || quote(retracted) || ' ' || recorded_at
    FROM day_version ORDER BY number, seq;
SELECT 'payload ' || seq || ' ' || number || ' ' || hex(bytes) FROM payload ORDER BY seq;
SELECT 'account ' || instance || ' ' || received || ' ' || stored || ' ' || versions || ' ' || retractions || ' ' || duplicates
    || ' ' || rejected FROM account ORDER BY instance;
SELECT 'sink ' || instance || ' ' || want || ' ' || start || ' ' || "cursor" || ' ' || wanted || ' ' || delivered || ' ' || pending
    || ' ' || retrying || ' ' || refused || ' ' || superseded || ' ' || skipped FROM sink ORDER BY id;
SELECT 'sink_skip ' || sink || ' ' || reason || ' ' || count FROM sink_skip ORDER BY sink, reason;
SELECT 'delivery ' || sink || ' ' || number || ' ' || seq || ' ' || state || ' ' || attempts || ' ' || quote(reason)
    || ' ' || settled || ' ' || holds || ' ' || quote(delivered) || ' ' || quote(receipt) FROM delivery ORDER BY sink, number;
SELECT 'deed ' || seq || ' ' || number || ' ' || kind || ' ' || quote(reason) FROM deed ORDER BY seq;
SELECT 'departure ' || seq || ' ' || number || ' ' || (SELECT text FROM term WHERE id = type)
    || ' ' || quote((SELECT name FROM person WHERE id = person)) || ' ' || quote(ended) FROM departure ORDER BY seq;
SELECT 'ruling ' || seq || ' ' || number || ' ' || rule || ' ' || quote(probability) || ' ' || quote(odds) FROM ruling ORDER BY seq
