import HubWire
package import Logging

/// Logs to stderr and escapes control characters, which could steer a terminal or add a line: messages contain texts of services and devices.
package struct PlainLogHandler: LogHandler {
    private var inner: StreamLogHandler

    package init(label: String) { inner = .standardError(label: label) }

    package var metadata: Logger.Metadata {
        get { inner.metadata }
        set { inner.metadata = newValue }
    }
    package var metadataProvider: Logger.MetadataProvider? {
        get { inner.metadataProvider }
        set { inner.metadataProvider = newValue }
    }
    package var logLevel: Logger.Level {
        get { inner.logLevel }
        set { inner.logLevel = newValue }
    }
    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { inner[metadataKey: key] }
        set { inner[metadataKey: key] = newValue }
    }

    package func log(event: LogEvent) {
        var event = event
        event.message = "\(PlainText.escaped(event.message.description))"
        event.metadata = event.metadata?.mapValues { "\(PlainText.escaped("\($0)"))" }
        inner.log(event: event)
    }
}
