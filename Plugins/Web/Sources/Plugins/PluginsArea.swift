import HTTPTypes
import Hummingbird
import NIOCore
import PluginKit

/// The page Plugins and a page for each instance, with their forms; only for the owner.
struct PluginsArea: SiteArea {
    private let parts: WebParts
    private let changes: PluginChanges
    private let logIns: PluginLogIns

    init(parts: WebParts) {
        self.parts = parts
        changes = PluginChanges(parts: parts)
        logIns = PluginLogIns(parts: parts)
    }

    func add(to router: some RouterMethods<WebRequestContext>) {
        let (parts, changes, logIns) = (parts, changes, logIns)
        let deeds = PluginFormActions(parts: parts)
        router.get("/plugins") { request, visit in
            try await PluginsPage(hub: parts.hub).response(SelectedPerson(request, visit, parts))
        }
        router.get("/plugins/:instance") { request, visit in
            try await PluginPage(hub: parts.hub).response(
                visit.parameters.get("instance"), SelectedPerson(request, visit, parts))
        }
        let logs = PluginLogs(hub: parts.hub)
        router.get("/plugins/:instance/logs") { request, visit in
            try await logs.response(visit.parameters.get("instance"), SelectedPerson(request, visit, parts))
        }
        router.get("/plugins/:instance/logs/lines") { request, visit in
            try await logs.lines(visit.parameters.get("instance"), request)
        }
        router.get("/plugins/:instance/login") { request, visit in
            try await logIns.response(visit.parameters.get("instance"), SelectedPerson(request, visit, parts))
        }
        post("login", router, logIns.begin)
        post("login/answer", router, logIns.answer)
        post("login/cancel", router, logIns.cancel)
        post("restart", router, deeds.restart)
        post("release", router, deeds.release)
        post("do/:command", router, deeds.carryOut)
        post("change", router, changes.plan)
        post("save", router, changes.save)
        router.get("/apply") { request, visit in try await deeds.plan(SelectedPerson(request, visit, parts)) }
        router.post("/apply") { request, visit in
            _ = try await WebForm.read(request, visit)
            return try await deeds.apply(SelectedPerson(request, visit, parts))
        }
    }

    /// Adds the handler of a form of an instance's page.
    private func post(
        _ path: String, _ router: some RouterMethods<WebRequestContext>,
        _ deed: @escaping @Sendable (PluginFormRequest) async throws -> Response
    ) {
        let parts = parts
        router.post(RouterPath("/plugins/:instance/\(path)")) { request, visit in
            let choice = try SelectedPerson(request, visit, parts)
            let (form, _) = try await WebForm.read(request, visit)
            guard let instance = visit.parameters.get("instance"), PeerName.isValid(instance) else {
                throw NoSuchPage()
            }
            return try await deed(
                PluginFormRequest(
                    instance: instance, command: visit.parameters.get("command") ?? "", form: form, choice: choice))
        }
    }
}

/// A form that the owner has sent from an instance's page.
struct PluginFormRequest: Sendable {
    let instance: String
    /// The name of the plugin's command, if the form is for one.
    let command: String
    let form: WebForm
    let choice: SelectedPerson
    var viewer: Viewer { choice.viewer }
}

/// The addresses of an instance.
enum PluginAddresses {
    static func of(_ instance: String, _ more: String = "") -> String { "/plugins/\(instance)\(more)" }
}
