public import PluginKit

/// The credentials that iHealth issues to users of its Open API, from the settings.
struct OpenAPISettings: Sendable {
    let address: ServiceAddress
    let clientID: String
    let clientSecret: Secret
    /// `sc`, the serial of the application.
    let serial: Secret
    /// `sv`, the id of the application's right to read weights.
    let right: Secret
    /// The redirect address as registered with iHealth.
    let redirect: String

    static let names = ["client_id", "client_secret", "openapi_sc", "openapi_sv", "openapi_redirect"]

    /// - Throws: ``PluginFailure`` with the names of the missing settings.
    init(_ settings: PluginSettings) throws {
        let missing = Self.names.filter { settings[$0] == nil }
        guard missing.isEmpty else {
            throw PluginFailure(
                .settings,
                "setting auth_mode: openapi needs what iHealth gives to developers; not set: "
                    + missing.joined(separator: ", "))
        }
        address = try ServiceAddress(settings, "openapi_base")
        (clientID, clientSecret) = (try settings.text("client_id"), try settings.secret("client_secret"))
        (serial, right) = (try settings.secret("openapi_sc"), try settings.secret("openapi_sv"))
        redirect = try settings.text("openapi_redirect")
    }
}

extension ScaleSettings {
    /// The settings that `auth_mode = "openapi"` needs in addition to `client_id` and `client_secret`.
    public static let openAPIDeclarations: [SettingDeclaration] = [
        SettingDeclaration(
            "openapi_base", .url(), help: "Where iHealth's Open API is.",
            default: .string("https://api.ihealthlabs.com:8443")),
        SettingDeclaration(
            "openapi_sc", .string(), help: "The serial (sc) that iHealth gave to your application.", secret: true),
        SettingDeclaration(
            "openapi_sv", .string(), help: "The id (sv) of its right to read weights (OpenApiWeight).", secret: true),
        SettingDeclaration(
            "openapi_redirect", .string(),
            help:
                "The address to which a log-in returns, as registered with iHealth; with http://127.0.0.1:PORT/ hub login "
                + "listens there."),
    ]
}
