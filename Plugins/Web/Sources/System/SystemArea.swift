import HTMLText
import Hummingbird
import PluginKit

/// The page System, and what may be done from it.
struct SystemArea: SiteArea {
    let parts: WebParts

    func add(to router: some RouterMethods<Visit>) {
        let actions = SystemActions(parts: parts)
        router.get("/system") { request, visit in
            try await SystemPage(parts: parts).response(Choice(request, visit, parts))
        }
        router.get("/system/apply") { request, visit in
            try await actions.applyPlan(Choice(request, visit, parts))
        }
        router.post("/system/apply") { request, visit in try await actions.apply(request, visit) }
        router.get("/system/restart") { request, visit in
            try await actions.restartPlan(request, Choice(request, visit, parts))
        }
        router.post("/system/restart") { request, visit in try await actions.restart(request, visit) }
    }
}
