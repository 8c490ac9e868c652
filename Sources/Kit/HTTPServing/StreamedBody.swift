public import NIOCore
import NIOHTTPTypes

/// An unfinished response body, written by its connection's event loop without a separate task.
///
/// Use it to send the same data to hundreds of clients: a waiting task for each of them would cost more than the writing. Hummingbird's own
/// writer sends the response's head before it and the end after it, through the same queue.
public struct StreamedBody: Sendable {
    private let channel: any Channel

    /// - Parameter channel: the client's connection.
    public init(_ channel: any Channel) { self.channel = channel }

    /// Writes bytes in the order of the calls.
    ///
    /// - Parameter done: called once on the event loop: true if the system has accepted all bytes, false if the connection has ended.
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

    /// Closes the connection and discards unsent data.
    public func close() { channel.close(promise: nil) }
}
