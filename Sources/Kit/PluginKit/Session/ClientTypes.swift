package import HubWire

/// A batch to store: records as JSON text, and the raw bytes from which they were made.
package struct OutgoingBatch: Hashable, Sendable {
    package var records: RawRecords
    package var isBackfill: Bool
    /// Payload frames; a record names its own by `"payload": index`.
    package var payloads: [[UInt8]]
    /// How long, in milliseconds, the batch is sent again while the hub answers only with ERROR `store`; `nil` for no limit.
    package var storePatience: Int64?

    package init(
        records: RawRecords, isBackfill: Bool = false, payloads: [[UInt8]] = [], storePatience: Int64? = nil
    ) {
        (self.records, self.isBackfill, self.payloads) = (records, isBackfill, payloads)
        self.storePatience = storePatience
    }

    /// The credit that the batch costs under `number`: its records, and the bytes of all frames after the verb (§4.3).
    package func cost(number: Int64) -> Credit {
        let envelope = #"{"batch":,"records":[]}"#.utf8.count + (isBackfill ? #","backfill":true"#.utf8.count : 0)
        let body = envelope + String(number).utf8.count + records.joined.count
        return Credit(records: records.count, bytes: body + payloads.reduce(0) { $0 + $1.count })
    }
}

/// A message as frames, from the verb on.
package struct OutgoingMessage: Hashable, Sendable {
    package var verb: Verb
    package var body: [UInt8]
    /// Only with SAMPLES.
    package var payloads: [[UInt8]]

    package init(_ message: ClientMessage, payloads: [[UInt8]] = []) {
        (verb, body, self.payloads) = (message.verb, message.body, payloads)
    }

    package var frames: [[UInt8]] { [verb.bytes, body] + payloads }
}

/// The caller's handle of a submitted batch.
package struct BatchTicket: Hashable, Sendable {
    package let number: Int64
}

/// The reason why a batch is not accepted.
package enum SubmitError: Error, Hashable, Sendable {
    /// The queue is full; submit again after the next `stored`.
    case full
    /// The batch has no records.
    case empty
    /// The dialogue is over or is finishing.
    case closed
}

/// An action for the owner of the socket; perform actions in their order.
package enum ClientAction: Hashable, Sendable {
    case send(OutgoingMessage)
    /// A session is open; batches without STORED are being sent again.
    ///
    /// Ask open questions again.
    case opened(Welcome)
    /// The session is over, with a reason for the log; the machine continues without the caller.
    case lost(String)
    /// The hub refuses the types of `declare`, and is greeted without them.
    case undeclared(WireError)
    /// The hub holds the batch; there is one result per record.
    ///
    /// It occurs once per ticket.
    case stored(BatchTicket, [RecordResult])
    /// The batch is refused for good, by the hub or by a limit of its WELCOME, or because the store failed for longer than
    /// ``OutgoingBatch/storePatience``.
    ///
    /// It occurs once per ticket, instead of `stored`.
    case refused(BatchTicket, WireError)
    /// RESULT, COMMAND, PROGRESS, OUTCOME, WANT, DELIVER, TOKEN, or an ERROR that answers one of the caller's own messages.
    case deliver(HubMessage)
    /// The hub asks the plugin to stop within the deadline: finish the current work, then call `finish`.
    case stop(Stop)
    /// The dialogue is over; nothing follows.
    case ended(ClientEnd)
}

/// The reason why a dialogue is over.
package enum ClientEnd: Hashable, Sendable {
    /// The caller finished, and everything it submitted was answered.
    case finished
    /// The hub asked to stop.
    ///
    /// Unanswered batches have to be sent to the next hub.
    case stopped
    /// The hub rejects this client; a person must look at the reason.
    case fatal(WireError)
}

/// Limits and delays of a client; times are in milliseconds.
package struct ClientPolicy: Hashable, Sendable {
    /// The delay after which the first HELLO is repeated; it doubles with each repetition.
    package var helloRepeat: Int64
    package var longestHelloRepeat: Int64
    /// The delay before HELLO after consecutive lost sessions; it doubles each time.
    package var lossDelay: Int64
    package var longestLossDelay: Int64
    /// The delay after an ERROR `store` that does not contain one.
    package var storeDelay: Int64
    /// Whether STOP concerns only this hub: for a program that was not started by a hub and waits for the next one.
    package var outlivesHub: Bool
    /// Maximum number of batches that wait to be sent or answered.
    package var queuedBatches: Int
    /// Maximum bytes of their records and payloads together.
    package var queuedBytes: Int

    package init(
        helloRepeat: Int64 = 1_000, longestHelloRepeat: Int64 = 15_000, lossDelay: Int64 = 250,
        longestLossDelay: Int64 = 30_000, storeDelay: Int64 = 1_000,
        outlivesHub: Bool = false, queuedBatches: Int = 256, queuedBytes: Int = 16_777_216
    ) {
        (self.helloRepeat, self.longestHelloRepeat) = (helloRepeat, longestHelloRepeat)
        (self.lossDelay, self.longestLossDelay, self.storeDelay) = (lossDelay, longestLossDelay, storeDelay)
        self.outlivesHub = outlivesHub
        (self.queuedBatches, self.queuedBytes) = (queuedBatches, queuedBytes)
    }
}
