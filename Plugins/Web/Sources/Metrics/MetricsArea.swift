import CoreMetrics
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import PluginKit

/// `/metrics` for programs with the owner's token, and the probes `/health` and `/ready`, which answer only yes or no.
struct MetricsArea: Sendable {
    let parts: WebParts
    private let readiness: ReadinessProbe

    init(parts: WebParts) {
        self.parts = parts
        readiness = ReadinessProbe(hub: parts.hub)
    }

    /// The probes need no log-in: a supervisor learns whether the plugin answers, and whether it could show data.
    func addProbes(to router: some RouterMethods<WebRequestContext>) {
        router.get("/health") { _, _ in Self.plain("ok\n") }
        router.get("/ready") { _, _ in
            await readiness.isReady ? Self.plain("ready\n") : Self.plain("not ready\n", .serviceUnavailable)
        }
    }

    func add(to router: some RouterMethods<WebRequestContext>) {
        router.get("/metrics") { _, _ in Self.plain(try await text(), type: "text/plain; version=0.0.4; charset=utf-8")
        }
    }

    private static func plain(
        _ text: String, _ status: HTTPResponse.Status = .ok, type: String = "text/plain; charset=utf-8"
    ) -> Response {
        Response(
            status: status, headers: [.contentType: type], body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    private func text() async throws -> String {
        let figures = HubMetrics()
        var missing = ""
        do {
            figures.put(try await parts.hub.hubStatus(within: .seconds(5)))
        } catch let error as AskError where error.error?.code == .forbidden {
            // The hub answers, but hub.conf does not let this plugin read its status.
            figures.registry.gauge("hub_up", 1)
            missing = "# The hub's figures are not granted to this page (status): type \(parts.grants.command)\n"
        } catch { figures.registry.gauge("hub_up", 0) }
        let own = parts.metrics
        own.gauge("web_sessions", Double(try await parts.access.sessions(at: parts.now).count))
        own.gauge("web_event_streams", Double(parts.seats.count))
        own.gauge("web_resident_memory_bytes", ProcessMetrics.residentBytes)
        return missing + figures.registry.text + own.text
    }
}

extension MetricRegistry {
    /// Sets a figure that is read, not counted.
    func gauge(_ name: String, _ value: Double?, _ labels: [(String, String)] = []) {
        guard let value else { return }
        Gauge(label: name, dimensions: labels, factory: self).record(value)
    }
}

/// The hub's figures at one moment, so that removed plugins and sinks have none.
struct HubMetrics {
    let registry = MetricRegistry(MetricCatalogue.hub)

    private func gauge(_ name: String, _ value: Double?, _ labels: [(String, String)] = []) {
        registry.gauge(name, value, labels)
    }

    private func gauge(_ name: String, _ value: Int64?, _ labels: [(String, String)] = []) {
        registry.gauge(name, value.map { Double($0) }, labels)
    }

    private func gauge(_ name: String, _ isSo: Bool?, _ labels: [(String, String)] = []) {
        registry.gauge(name, isSo.map { $0 ? 1 : 0 }, labels)
    }

    private func counter(_ name: String, _ value: Int64, _ labels: [(String, String)] = []) {
        Counter(label: name, dimensions: labels, factory: registry).increment(by: value)
    }

    func put(_ state: HubStatus) {
        gauge("hub_up", true)
        gauge("hub_info", 1.0, [("version", state.version)])
        gauge("hub_uptime_seconds", state.uptime)
        gauge("hub_resident_memory_bytes", state.residentBytes)
        gauge("hub_records", state.records)
        gauge("hub_inbox_records", state.inbox)
        gauge("hub_implausible_records", state.implausible)
        counter("hub_dropped_messages_total", state.dropped)
        gauge("hub_store_ok", state.store.isWell)
        gauge("hub_store_size_bytes", state.store.size)
        gauge("hub_store_log_bytes", state.store.log)
        gauge("hub_store_free_bytes", state.store.free)
        gauge("hub_backup_age_seconds", state.age(of: state.backup?.time))
        gauge("hub_backup_behind_changes", state.backup?.behind)
        for plugin in state.plugins { put(plugin, [("plugin", plugin.name)]) }
        for sink in state.sinks { put(sink, age: state.age(of: sink.oldestPending)) }
    }

    private func put(_ plugin: PluginStatus, _ labels: [(String, String)]) {
        gauge("hub_plugin_enabled", plugin.enabled, labels)
        gauge("hub_plugin_alive", plugin.alive, labels)
        gauge("hub_plugin_fresh", plugin.fresh, labels)
        gauge("hub_plugin_error", plugin.hasError ?? false, labels)
        counter("hub_plugin_restarts_total", Int64(plugin.restarts), labels)
        counter("hub_plugin_records_total", plugin.records, labels)
    }

    private func put(_ sink: SinkStatus, age: Double?) {
        let labels = [("sink", sink.name)]
        gauge("hub_sink_ok", sink.isWell, labels)
        gauge("hub_sink_wanted_records", sink.wanted, labels)
        let states = [
            ("delivered", sink.delivered), ("pending", sink.pending), ("retrying", sink.retrying),
            ("refused", sink.refused), ("superseded", sink.superseded), ("skipped", sink.skipped),
        ]
        for (state, count) in states { gauge("hub_sink_records", count, labels + [("state", state)]) }
        gauge("hub_sink_oldest_pending_seconds", age ?? 0, labels)
    }
}

/// Figures of this process from the system.
enum ProcessMetrics {
    /// Nil if the system does not provide it.
    static var residentBytes: Double? {
        guard let line = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return nil }
        let fields = line.split(separator: " ")
        return fields.count > 1 ? Double(fields[1]).map { $0 * Double(sysconf(Int32(_SC_PAGESIZE))) } : nil
    }
}
