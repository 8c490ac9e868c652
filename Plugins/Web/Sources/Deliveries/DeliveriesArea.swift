import HTTPTypes
import Hummingbird
import PluginKit

/// The state of deliveries: a page of all sinks, a page for each, and replays.
struct DeliveriesArea: SiteArea {
    let parts: WebParts

    func add(to router: some RouterMethods<WebRequestContext>) {
        let replay = ReplayPages(parts: parts)
        router.get("/deliveries") { request, visit in
            try await DeliveriesPage(hub: parts.hub).response(SelectedPerson(request, visit, parts))
        }
        router.get("/deliveries/sink") { request, visit in
            let choice = try SelectedPerson(request, visit, parts)
            return try await SinkPage(hub: parts.hub).response(request.uri.queryParameters["name"], choice)
        }
        router.get("/deliveries/replay") { request, visit in
            try await replay.plan(request, SelectedPerson(request, visit, parts))
        }
        router.post("/deliveries/replay") { request, visit in try await replay.run(request, visit) }
        router.get("/deliveries/record") { request, _ in
            guard let number = request.uri.queryParameters["number"].flatMap({ Int64($0) }), number > 0 else {
                throw RequestRefusal(
                    .badRequest, "This is not the number of a record",
                    "Each record has one: the first column of the page of its type, the last of hub samples.")
            }
            return PageAnswer.redirect(to: RecordDetailPage.path(number))
        }
    }
}
