public import NIOCore
import NIOHTTPTypes

/// The body of an answer that has no end yet, written by its connection's event loop without a task of its own.
///
/// For what hundreds of visitors are told at once: a task that waits for each of them costs more than what it writes. The answer's head goes
/// out before, and its end after, by Hummingbird's own writer; both stand in one row with what is written here.
public struct OpenBody: Sendable {
    private let channel: any Channel

    /// - Parameter channel: the visitor's connection.
    public init(_ channel: any Channel) { self.channel = channel }

    /// Hands bytes over, in the order of the calls.
    ///
    /// - Parameter done: called once, on the event loop: true when the system has taken all of them, false when the connection has ended.
    public func write(_ pieces: [ByteBuffer], _ done: @escaping @Sendable (Bool) -> Void) {
        channel.eventLoop.execute { [channel] in
            for piece in pieces.dropLast() { channel.write(HTTPResponsePart.body(piece), promise: nil) }
            let promise = channel.eventLoop.makePromise(of: Void.self)
            promise.futureResult.whenComplete { result in
                if case .success = result { done(true) } else { done(false) }
            }
            guard let last = pieces.last else { return promise.succeed() }
            channel.writeAndFlush(HTTPResponsePart.body(last), promise: promise)
        }
    }

    /// Ends the connection, whatever waits to be taken.
    public func close() { channel.close(promise: nil) }
}
