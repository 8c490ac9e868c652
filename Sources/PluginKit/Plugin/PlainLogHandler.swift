import HubWire
import Logging

/// Log lines on stderr, with everything written out that would steer a terminal or add a line: messages hold texts of services and devices.
struct PlainLogHandler: LogHandler {
    private var inner: StreamLogHandler

    init(label: String) { inner = .standardError(label: label) }

    var metadata: Logger.Metadata {
        get { inner.metadata }
        set { inner.metadata = newValue }
    }
    var metadataProvider: Logger.MetadataProvider? {
        get { inner.metadataProvider }
        set { inner.metadataProvider = newValue }
    }
    var logLevel: Logger.Level {
        get { inner.logLevel }
        set { inner.logLevel = newValue }
    }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { inner[metadataKey: key] }
        set { inner[metadataKey: key] = newValue }
    }

    func log(event: LogEvent) {
        var event = event
        event.message = "\(PlainText.escaped(event.message.description))"
        event.metadata = event.metadata?.mapValues { "\(PlainText.escaped("\($0)"))" }
        inner.log(event: event)
    }
}
