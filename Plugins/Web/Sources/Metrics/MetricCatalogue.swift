/// All metrics, in the order of the page; none contains a health value or a person's name.
enum MetricCatalogue {
    /// Metrics of the hub, from its status.
    static let hub: [MetricDescription] = [
        .init(
            "hub_up", .gauge,
            "Whether the hub has answered: 1, or 0 and then there are no other figures of it (nor where `status` is not granted)."
        ),
        .init("hub_info", .gauge, "Always 1; the label has the hub's version.", labels: ["version"]),
        .init("hub_uptime_seconds", .gauge, "Since the hub was started."),
        .init("hub_resident_memory_bytes", .gauge, "Memory that the hub holds."),
        .init("hub_records", .gauge, "Records that are stored, those that were taken back included."),
        .init("hub_inbox_records", .gauge, "Records that wait in the inbox for a person."),
        .init(
            "hub_implausible_records", .gauge,
            "Samples that look wrong and that no person has confirmed, without a guest's."),
        .init(
            "hub_dropped_messages_total", .counter,
            "Passing values and events dropped beyond the allowance, since the start of the hub."),
        .init("hub_store_ok", .gauge, "Whether the store works: 1 or 0."),
        .init("hub_store_size_bytes", .gauge, "The size of the store's file."),
        .init("hub_store_log_bytes", .gauge, "The size of its write-ahead log."),
        .init("hub_store_free_bytes", .gauge, "Free space on its disk."),
        .init("hub_backup_age_seconds", .gauge, "Since the newest backup was begun; absent if none is known."),
        .init(
            "hub_backup_behind_changes", .gauge,
            "Changes of the store since the newest backup; absent if it is not known."),
        .init("hub_plugin_enabled", .gauge, "Whether hub.conf enables it: 1 or 0.", labels: ["plugin"]),
        .init("hub_plugin_alive", .gauge, "Whether it runs and has a session.", labels: ["plugin"]),
        .init(
            "hub_plugin_fresh", .gauge, "Whether it gave a record within the last day; absent until it gave one.",
            labels: ["plugin"]),
        .init("hub_plugin_error", .gauge, "Whether it has reported an error that is not resolved.", labels: ["plugin"]),
        .init(
            "hub_plugin_restarts_total", .counter, "Its processes after the first, since the start of the hub.",
            labels: ["plugin"]),
        .init(
            "hub_plugin_records_total", .counter, "Records that it gave since the start of the hub.", labels: ["plugin"]
        ),
        .init("hub_sink_ok", .gauge, "Whether the sink works without help: 1 or 0.", labels: ["sink"]),
        .init(
            "hub_sink_wanted_records", .gauge, "All records for the sink; the sum of hub_sink_records of all states.",
            labels: ["sink"]),
        .init(
            "hub_sink_records", .gauge, "By state: delivered, pending, retrying, refused, superseded, skipped.",
            labels: ["sink", "state"]),
        .init(
            "hub_sink_oldest_pending_seconds", .gauge,
            "Since the oldest record that waits for it was stored; 0 if none waits.", labels: ["sink"]),
    ]

    /// Metrics of this plugin.
    static let web: [MetricDescription] = [
        .init(
            "web_requests_total", .counter, "Answers by the pattern of their address and the class of their status.",
            labels: ["route", "status"]),
        .init(
            "web_request_duration_seconds", .histogram, "From the head of a request until its answer begins.",
            labels: ["route"]), .init("web_sessions", .gauge, "Browsers that are logged in."),
        .init("web_event_streams", .gauge, "Browsers and programs that listen for events."),
        .init("web_resident_memory_bytes", .gauge, "Memory that the page's program holds."),
    ]
}
