import HTTPServing
import HTTPTypes
import Hummingbird
import JSON
import NIOCore
import PluginKit

/// `/events`: a stream of the hub's events.
enum EventRoutes {
    static let path = API.root + "/events"

    static let all: [APIRoute] = [
        .get(
            "/events", "Live events as Server-Sent Events: records, with their cursor as id, and live values.",
            [
                APIParameter(
                    name: "since", form: .cursor, help: "The listener's last cursor; not given: only new events."),
                APIParameter(
                    name: "Last-Event-ID", form: .cursor,
                    help: "The same, as browsers send it after a break; it takes precedence.", place: .header),
                Parameters.person, Parameters.types,
            ], answer: .init("A stream that stays open.", ["type": "string"], type: "text/event-stream"),
            handle: listen)
    ]

    @Sendable private static func listen(_ call: APICall) async throws -> Response {
        let place = call.cursor("Last-Event-ID") ?? call.cursor("since")
        let (person, types) = (try call.person(), try call.types())
        let headers: HTTPFields = [
            .contentType: "text/event-stream", .cacheControl: "no-store", HTTPField.Name("X-Accel-Buffering")!: "no",
        ]
        guard call.request.method == .get else { return Response(status: .ok, headers: headers) }
        let seat = try call.parts.seats.take(call.viewer)
        let (events, request, body) = (call.parts.events, call.request, StreamedBody(call.visit.channel))
        let stream = EventStream(
            call.viewer, person: person, types: types.map(Set.init), write: body.write, close: body.close)
        return Response(
            status: .ok, headers: headers,
            body: ResponseBody { writer in
                // Ends the stream as soon as the client disconnects.
                try await request.body.consumeWithInboundCloseHandler { _ in
                    try await events.serve(stream, after: place)
                } onInboundClosed: {
                    stream.end()
                }
                try await writer.finish(nil)
                withExtendedLifetime(seat) {}
            })
    }
}
