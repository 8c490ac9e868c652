import Hummingbird
import PluginKit

/// The pages that show values: Today, all data, and each type.
struct ReadingArea: SiteArea {
    let parts: WebParts

    func add(to router: some RouterMethods<WebRequestContext>) {
        router.get("/") { request, visit in
            try await TodayPage(parts: parts).response(request, SelectedPerson(request, visit, parts))
        }
        router.get("/data") { request, visit in
            try await DataPage(parts: parts).response(request, SelectedPerson(request, visit, parts))
        }
        router.get("/types/:type") { request, visit in
            try await TypePage(parts: parts).response(
                visit.parameters.get("type") ?? "", request, SelectedPerson(request, visit, parts))
        }
    }
}

extension Request {
    /// A query parameter of the address; nil if it is missing or empty.
    func field(_ name: String) -> String? {
        uri.queryParameters[name[...]].map(String.init).flatMap { $0.isEmpty ? nil : $0 }
    }
}
