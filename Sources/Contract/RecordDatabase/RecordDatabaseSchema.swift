/// Tables for programs, and views for people.
enum RecordDatabaseSchema {
    static let tables = """
        CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        CREATE TABLE sources (
            id INTEGER PRIMARY KEY, plugin TEXT NOT NULL, device TEXT, account TEXT, name TEXT NOT NULL);
        CREATE TABLE types (
            id TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, unit TEXT, loinc TEXT, healthkit TEXT);
        CREATE TABLE records (
            id INTEGER PRIMARY KEY, kind TEXT NOT NULL, type TEXT NOT NULL REFERENCES types (id),
            person INTEGER REFERENCES people (id), value REAL, unit TEXT, text TEXT, raw INTEGER,
            start TEXT NOT NULL, "end" TEXT NOT NULL, local_date TEXT, local_time TEXT, instant INTEGER NOT NULL,
            seconds REAL NOT NULL, zone TEXT,
            source INTEGER NOT NULL REFERENCES sources (id), key TEXT NOT NULL, "group" TEXT, provenance TEXT NOT NULL,
            original_value REAL, original_unit TEXT, edited INTEGER NOT NULL, implausible INTEGER NOT NULL,
            mirrored INTEGER NOT NULL, source_version INTEGER, metadata TEXT, further TEXT);
        CREATE TABLE workout_totals (
            record INTEGER NOT NULL REFERENCES records (id), type TEXT NOT NULL, statistic TEXT NOT NULL,
            value REAL NOT NULL, unit TEXT NOT NULL);
        CREATE TABLE route_points (
            record INTEGER NOT NULL REFERENCES records (id), time TEXT NOT NULL, latitude REAL NOT NULL,
            longitude REAL NOT NULL, altitude REAL, speed REAL, course REAL, horizontal_accuracy REAL,
            vertical_accuracy REAL);
        CREATE TABLE day_values (
            id INTEGER PRIMARY KEY, type TEXT NOT NULL REFERENCES types (id), person INTEGER REFERENCES people (id),
            date TEXT NOT NULL, value REAL NOT NULL, unit TEXT NOT NULL, series TEXT NOT NULL, method TEXT NOT NULL,
            observed_on TEXT, age INTEGER, source INTEGER NOT NULL REFERENCES sources (id), metadata TEXT);
        """

    static let indices = """
        CREATE INDEX records_type_instant ON records (type, instant);
        CREATE INDEX records_group ON records ("group") WHERE "group" IS NOT NULL;
        CREATE INDEX workout_totals_record ON workout_totals (record);
        CREATE INDEX route_points_record ON route_points (record);
        CREATE INDEX day_values_type_date ON day_values (type, date);
        """

    /// Views with the local time at the place of measurement, as `LocalDay` computes it.
    ///
    /// Implausible values are marked in `records` and `measurements`. Other views omit them, as statistics do.
    static let views = """
        CREATE VIEW weights AS
            SELECT r.local_date AS date, substr(r.local_time, 1, 5) AS time, p.name AS person, r.value AS kg,
                s.name AS source, r.id AS record
            FROM records r LEFT JOIN people p ON p.id = r.person JOIN sources s ON s.id = r.source
            WHERE r.type = 'weight' AND r.implausible = 0 ORDER BY r.instant;
        CREATE VIEW days AS
            SELECT d.date, p.name AS person, t.name AS measure, d.value, d.unit, d.series, d.method, d.observed_on,
                d.age AS days_old
            FROM day_values d LEFT JOIN people p ON p.id = d.person JOIN types t ON t.id = d.type
            ORDER BY d.date, t.name, d.series;
        CREATE VIEW workouts AS
            SELECT r.local_date AS date, substr(r.local_time, 1, 5) AS time, p.name AS person, r.text AS activity,
                round(r.seconds / 60, 1) AS minutes,
                round(coalesce((SELECT w.value FROM workout_totals w WHERE w.record = r.id
                    AND w.statistic = 'sum' AND w.type LIKE 'distance%' LIMIT 1),
                    (SELECT sum(m.value) FROM records m WHERE m."group" = r."group" AND m.source = r.source
                    AND m.type LIKE 'distance%')) / 1000, 2) AS km,
                round(coalesce((SELECT w.value FROM workout_totals w WHERE w.record = r.id
                    AND w.statistic = 'sum' AND w.type = 'activeEnergyBurned'),
                    (SELECT sum(m.value) FROM records m WHERE m."group" = r."group" AND m.source = r.source
                    AND m.type = 'activeEnergyBurned'))) AS kcal,
                (SELECT round(w.value) FROM workout_totals w WHERE w.record = r.id
                    AND w.statistic = 'average' AND w.type = 'heartRate') AS heart_rate,
                s.name AS source, r.id AS record
            FROM records r LEFT JOIN people p ON p.id = r.person JOIN sources s ON s.id = r.source
            WHERE r.kind = 'workout' AND r.implausible = 0 ORDER BY r.instant;
        CREATE VIEW blood_pressures AS
            SELECT r.local_date AS date, substr(r.local_time, 1, 5) AS time, p.name AS person,
                (SELECT m.value FROM records m WHERE m."group" = r."group" AND m.source = r.source
                    AND m.type = 'bloodPressureSystolic') AS systolic,
                (SELECT m.value FROM records m WHERE m."group" = r."group" AND m.source = r.source
                    AND m.type = 'bloodPressureDiastolic') AS diastolic,
                s.name AS source, r.id AS record
            FROM records r LEFT JOIN people p ON p.id = r.person JOIN sources s ON s.id = r.source
            WHERE r.type = 'bloodPressure' AND r.implausible = 0 ORDER BY r.instant;
        CREATE VIEW sleep AS
            SELECT r.local_date AS date, substr(r.local_time, 1, 5) AS time, r.start, r."end", p.name AS person, r.text AS stage,
                round(r.seconds / 60, 1) AS minutes, s.name AS source, r.id AS record
            FROM records r LEFT JOIN people p ON p.id = r.person JOIN sources s ON s.id = r.source
            WHERE r.type = 'sleepAnalysis' AND r.implausible = 0 ORDER BY r.instant;
        CREATE VIEW measurements AS
            SELECT r.local_date AS date, substr(r.local_time, 1, 5) AS time, p.name AS person, t.name AS measure,
                coalesce(r.value, r.text) AS value, r.unit, r.implausible, s.name AS source, r.id AS record
            FROM records r LEFT JOIN people p ON p.id = r.person JOIN sources s ON s.id = r.source
                JOIN types t ON t.id = r.type
            ORDER BY r.instant;
        """
}
