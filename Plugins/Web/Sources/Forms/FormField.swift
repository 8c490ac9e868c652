/// A field of a form with its label, content, hint and error.
struct FormField: Sendable {
    let name, label: String
    /// The name in `hub.conf`, if it differs from the label.
    var code: String?
    /// The id on the page, if several forms have a field of this name; nil for the name.
    var id: String?
    var value = ""
    var hint: String?
    var fault: String?
    /// Content below the field.
    var more: HTML?

    /// An `input`, by default a line of text.
    func line(_ type: String = "text", _ attributes: HTML = HTML()) -> HTML {
        html { "<input type=\"\(type)\" \($0) value=\"\(value)\" \(attributes)>" }
    }

    /// Several lines of text.
    func area(_ attributes: HTML = HTML()) -> HTML {
        html { "<textarea \($0) rows=\"3\" \(attributes)>\(value)</textarea>" }
    }

    /// A choice of one option.
    func choice(_ options: [FormOption]) -> HTML {
        html { "<select \($0)>\(FormFields.options(options, chosen: value))</select>" }
    }

    /// A value that cannot be changed here.
    func fixed(_ text: String) -> HTML {
        "<div class=\"field\"><span class=\"label\">\(title)</span><code>\(text)</code>\n\(words)</div>"
    }

    private func html(_ control: (HTML) -> HTML) -> HTML {
        let id = id ?? name
        let described = [hint.map { _ in "\(id)-hint" }, fault.map { _ in "\(id)-fault" }].compactMap(\.self)
        let by: HTML? = described.isEmpty ? nil : "aria-describedby=\"\(described.joined(separator: " "))\""
        let marks: HTML = """
            id="\(id)" name="\(name)" \("aria-invalid=\"true\"", if: fault != nil) \(by)
            """
        return """
            <div class="field"><label for="\(id)">\(title)</label>
            \(control(marks))\(more)
            \(words)</div>
            """
    }

    private var title: HTML { "\(label)\(code.map { " <code>\($0)</code>" as HTML })" }

    private var words: HTML {
        let id = id ?? name
        let hint = hint.map { "<p class=\"hint\" id=\"\(id)-hint\">\($0)</p>" as HTML }
        let fault = fault.map { "<p class=\"fault\" id=\"\(id)-fault\">\($0)</p>" as HTML }
        return "\(hint)\(fault)"
    }
}

extension HTML {
    /// A form with one button and hidden fields.
    static func button(
        _ action: String, _ label: HTML, _ fields: [(name: String, value: String)] = [], isMain: Bool = false
    ) -> HTML {
        """
        <form class="inline" method="post" action="\(url: action)">\
        \(each(fields) { FormFields.hidden($0.name, $0.value) })<button \("class=\"main\"", if: isMain)>\(label)</button></form>
        """
    }
}
