import HTMLText

/// The fields of a form as a page shows them: each with its label, what was typed, and beside it what is wrong with it.
struct FormFields: Sendable {
    /// What stands in the fields, by name.
    var values: [String: String] = [:]
    /// What is wrong, by the name of the field.
    var faults: [String: String] = [:]

    /// What was typed into a form; nothing of it is lost when it is shown again.
    static func typed(_ form: WebForm, _ names: [String]) -> FormFields {
        FormFields(values: Dictionary(uniqueKeysWithValues: names.map { ($0, form[$0] ?? "") }))
    }

    private func field(_ name: String, _ label: String, _ hint: String?) -> FormField {
        FormField(name: name, label: label, value: values[name] ?? "", hint: hint, fault: faults[name])
    }

    /// A line of text.
    ///
    /// - Parameter isNumber: whether small devices are to show digits first.
    func line(_ name: String, _ label: String, hint: String? = nil, isNumber: Bool = false, isNeeded: Bool = false)
        -> HTML
    {
        field(name, label, hint).line(
            "text",
            "autocomplete=\"off\" maxlength=\"1000\" \("inputmode=\"decimal\"", if: isNumber) \("required", if: isNeeded)"
        )
    }

    /// Several lines of text.
    func area(_ name: String, _ label: String, hint: String? = nil) -> HTML {
        field(name, label, hint).area("maxlength=\"4000\"")
    }

    /// One of several.
    func choice(_ name: String, _ label: String, _ options: [FormOption], hint: String? = nil) -> HTML {
        field(name, label, hint).choice(options)
    }

    static func options(_ options: [FormOption], chosen: String?) -> HTML {
        HTML.each(options) { option in
            "<option value=\"\(option.value)\" \("selected", if: option.value == chosen)>\(option.text)</option>"
        }
    }

    /// A field that is not seen.
    func hidden(_ name: String) -> HTML { Self.hidden(name, values[name] ?? "") }

    static func hidden(_ name: String, _ value: String) -> HTML {
        "<input type=\"hidden\" name=\"\(name)\" value=\"\(value)\">"
    }

    /// What is wrong with the whole, or with a field that the form does not show, before its fields.
    func summary(besides shown: [String]) -> HTML {
        let others = faults.filter { !shown.contains($0.key) }.sorted { $0.key < $1.key }.map(\.value)
        let count = faults.count - others.count
        let lines = others + (count > 0 ? ["Nothing was saved: see beside the fields."] : [])
        guard !lines.isEmpty else { return HTML() }
        return "<div class=\"fault\" role=\"alert\">\(HTML.each(lines) { "<p>\($0)</p>" })</div>"
    }
}

/// What a form offers.
struct FormOption: Sendable {
    let value, text: String
}
