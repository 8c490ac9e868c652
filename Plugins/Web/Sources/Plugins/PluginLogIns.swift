import HealthText
import Hummingbird
import PluginKit

/// Log-ins at the services of plugins, led from a page: it shows the plugin's questions and takes the person's answers.
struct PluginLogIns: Sendable {
    let parts: WebParts

    private var talks: LogInSessions { parts.logIns }
    private var hub: PluginContext { parts.hub }

    /// The present state.
    func response(_ name: String?, _ choice: SelectedPerson) async throws -> Response {
        let facts = try await hub.pluginFacts(of: name)
        guard facts.has("login") else { throw noSuchPage }
        let frame = PageFrame(
            title: "Log in to \(facts.name)", choice: choice, path: PluginAddresses.of(facts.name, "/login"))
        let way: HTML = "<p><a href=\"\(url: PluginAddresses.of(facts.name))\">\(facts.name)</a></p>"
        guard let talk = talks.talk(of: facts.name, for: choice.viewer) else {
            return frame.page("\(way)\(beginning(facts))")
        }
        guard talk.session == choice.viewer.session.hash else {
            return frame.page("\(way)<p>Another browser, or a program, is logging in now.</p>\(cancelling(facts.name))")
        }
        switch await talk.state {
        case .ended: return end(talk, choice.viewer)
        case .working:
            return frame.page(
                """
                \(way)<p>The plugin is logging in.</p><p><a class="button" href="\(url: PluginAddresses.of(facts.name, "/login"))">Look \
                again</a></p>\(cancelling(facts.name))
                """)
        case .asking(let question, let number):
            return frame.page("\(way)\(asking(question, number, facts.name))")
        }
    }

    private func beginning(_ facts: PluginFacts) -> HTML {
        let declaration = facts.description?.commands?.first { $0.name == "login" }
        let tokens = HTML.each(facts.condition.tokens ?? []) {
            "<li>\($0.user ?? $0.account)\($0.advice.map { ": \(LocalTime.inSentence($0))" } ?? ", logged in")</li>"
        }
        let form = OwnerGrants(hub).shown(.commands, to: "Logging in") {
            """
            <form class="entry" method="post" action="\(url: PluginAddresses.of(facts.name, "/login"))">
            \(HTML.each(declaration?.arguments ?? []) { SettingField(argument: $0, of: "login").html(isEnabled: true) })\
            <button class="main">Begin</button></form>
            """
        }
        return """
            \(tokens.isEmpty ? HTML() : "<ul>\(tokens)</ul>")
            <p>\(declaration?.help ?? "") It has ten minutes.</p>\(form)
            """
    }

    private func asking(_ question: CommandQuestion, _ number: Int, _ name: String) -> HTML {
        let page: HTML =
            question.url.map {
                "<p><a class=\"button main\" href=\"\(url: $0)\" target=\"_blank\" rel=\"noreferrer noopener\">Open the page of the service</a></p>"
            } ?? HTML()
        let ending: HTML =
            question.redirect.map { redirect in
                """
                <p>It ends on an address that begins with <code>\(redirect)</code> and may not load. Paste that whole address here, or the \
                code that the page shows.</p>
                """
            } ?? HTML()
        let answer = FormField(name: "answer", label: "Your answer").line(
            question.isSecret ? "password" : "text",
            "required autocomplete=\"off\" spellcheck=\"false\" autocapitalize=\"off\"")
        return """
            <p>\(question.prompt)</p>\(page)\(ending)
            <form class="entry" method="post" action="\(url: PluginAddresses.of(name, "/login/answer"))">
            \(FormFields.hidden("question", "\(number)"))\(answer)
            <button class="main">Go on</button></form>
            \(cancelling(name))
            """
    }

    private func cancelling(_ name: String) -> HTML {
        HTML.button(PluginAddresses.of(name, "/login/cancel"), "Give it up")
    }

    // MARK: - Forms

    func begin(_ call: PluginFormRequest) async throws -> Response {
        let facts = try await hub.pluginFacts(of: call.instance)
        guard let declaration = facts.description?.commands?.first(where: { $0.name == "login" }) else {
            throw noSuchPage
        }
        let page = PluginAddresses.of(call.instance, "/login")
        let grants = OwnerGrants(hub)
        guard grants.have(.commands) else {
            return parts.told("<p>\(grants.advice(.commands, to: "Logging in"))</p>", call.viewer, on: page)
        }
        let arguments = SettingField.arguments(of: declaration, from: call.form)
        guard let talk = await talks.begin(call.instance, arguments, hub, for: call.viewer) else {
            return parts.told(
                "<p>Log-ins are under way already; finish or give up one of them first.</p>", call.viewer, on: page)
        }
        return await next(talk, call)
    }

    func answer(_ call: PluginFormRequest) async throws -> Response {
        let page = PluginAddresses.of(call.instance, "/login")
        guard let talk = talks.talk(of: call.instance, for: call.viewer), talk.session == call.viewer.session.hash
        else { return parts.told("<p>This log-in is over; begin another.</p>", call.viewer, on: page) }
        guard let answer = call.form["answer"], let question = call.form["question"].flatMap({ Int($0) }),
            let answered = await talks.answer(call.instance, answer, to: question, for: call.viewer)
        else { return talk.isOver ? end(talk, call.viewer) : PageAnswer.redirect(to: page) }
        return await next(answered, call)
    }

    func cancel(_ call: PluginFormRequest) async throws -> Response {
        await talks.cancel(call.instance)
        if let talk = talks.talk(of: call.instance, for: call.viewer) { return end(talk, call.viewer) }
        return parts.told("<p>The log-in was given up.</p>", call.viewer, on: PluginAddresses.of(call.instance))
    }

    private func next(_ talk: LogInSession, _ call: PluginFormRequest) async -> Response {
        if case .ended = await talk.state { return end(talk, call.viewer) }
        return PageAnswer.redirect(to: PluginAddresses.of(call.instance, "/login"))
    }

    private func end(_ talk: LogInSession, _ viewer: Viewer) -> Response {
        talks.remove(talk)
        return parts.told(Self.words(talk), viewer, on: PluginAddresses.of(talk.instance))
    }

    /// The outcome, for people.
    private static func words(_ talk: LogInSession) -> HTML {
        switch talk.outcome {
        case .loggedIn(let user)?:
            let who: HTML = user.map { " as \($0)" } ?? HTML()
            return "<p class=\"good\">Logged in to \(talk.instance)\(who).</p>"
        case .failed(let reason)?: return "<p class=\"bad\">Not logged in to \(talk.instance): \(reason)</p>"
        case .unknown(let reason)?:
            return "<p class=\"bad\">It is not known whether you are logged in to \(talk.instance): \(reason)</p>"
        case .givenUp?: return "<p>The log-in to \(talk.instance) was given up.</p>"
        case nil: return HTML()
        }
    }
}
