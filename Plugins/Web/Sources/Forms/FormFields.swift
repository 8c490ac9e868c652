/// The fields of a form, each with its label, content and error.
struct FormFields: Sendable {
    /// The content by field name.
    var values: [String: String] = [:]
    /// The errors by field name.
    var faults: [String: String] = [:]

    /// The content that was typed into a form, so that it is kept when the form is shown again.
    static func typed(_ form: WebForm, _ names: [String]) -> FormFields {
        FormFields(values: Dictionary(uniqueKeysWithValues: names.map { ($0, form[$0] ?? "") }))
    }

    private func field(_ name: String, _ label: String, _ hint: String?) -> FormField {
        FormField(name: name, label: label, value: values[name] ?? "", hint: hint, fault: faults[name])
    }

    /// A line of text.
    ///
    /// - Parameter isNumber: whether small devices show digits first.
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

    /// A choice of one option.
    func choice(_ name: String, _ label: String, _ options: [FormOption], hint: String? = nil) -> HTML {
        field(name, label, hint).choice(options)
    }

    static func options(_ options: [FormOption], chosen: String?) -> HTML {
        HTML.each(options) { option in
            "<option value=\"\(option.value)\" \("selected", if: option.value == chosen)>\(option.text)</option>"
        }
    }

    /// A hidden field.
    func hidden(_ name: String) -> HTML { Self.hidden(name, values[name] ?? "") }

    static func hidden(_ name: String, _ value: String) -> HTML {
        "<input type=\"hidden\" name=\"\(name)\" value=\"\(value)\">"
    }

    /// Errors of the whole form and of fields that it does not show, before its fields.
    func summary(besides shown: [String]) -> HTML {
        let others = faults.filter { !shown.contains($0.key) }.sorted { $0.key < $1.key }.map(\.value)
        let count = faults.count - others.count
        let lines = others + (count > 0 ? ["Nothing was saved: see beside the fields."] : [])
        guard !lines.isEmpty else { return HTML() }
        return "<div class=\"fault\" role=\"alert\">\(HTML.each(lines) { "<p>\($0)</p>" })</div>"
    }
}

/// An option of a choice.
struct FormOption: Sendable { let value, text: String }
