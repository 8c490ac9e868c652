/// The units in which the people of a region usually read a type.
///
/// Taken from the Unicode CLDR, version 42, `unitPreferenceData`: the usages `person`, `person-height`, `road`, `weather`, `fluid`,
/// `food` and `blood-glucose`. Docs/Samples.md lists the deviations and their reasons.
enum UsualUnits {
    /// Regions that read body masses in pounds.
    private static let pounds: Set = ["US"]
    /// Regions that read heights in feet and inches, and other body lengths in inches.
    private static let feet: Set = ["US", "CA", "GB", "IN"]
    private static let miles: Set = ["US", "GB"]
    private static let fahrenheit: Set = ["US", "BS", "BZ", "KY", "PR", "PW"]
    private static let fluidOunces: Set = ["US"]
    private static let millimoles = Set(
        """
        AG AI AO AU BA BG BH BM BN BW BY CA CH CM CN CZ DK DM EE FI FJ GB GD HK HR HU IE IM IS KE KN KW KZ LC LI LT LU LV ME MG \
        MK MO MS MT MU MY MZ NA NL NO NZ OM PG RS RU SE SG SI SK TC TO UA UG VC VG VN VU ZA
        """.split(separator: " ").map(String.init))

    /// - Parameters:
    ///   - units: the units in which the type is read, starting with the usual one in most of the world.
    ///   - region: a region such as `US`.
    static func unit(among units: [String], in region: String) -> String? {
        func unit(_ unit: String, in regions: Set<String>) -> String? { regions.contains(region) ? unit : nil }
        switch units.first {
        case "kg" where units.contains("lb"): return unit("lb", in: pounds)
        case "cm" where units.contains("ft+in"): return unit("ft", in: feet)
        case "cm" where units.contains("in"): return unit("in", in: feet)
        case "km": return unit("mi", in: miles)
        case "km/hr": return unit("mi/hr", in: miles)
        case "degC": return unit("degF", in: fahrenheit)
        case "mL" where units.contains("fl_oz_us"): return unit("fl_oz_us", in: fluidOunces)
        case "mg/dL": return units.first { $0.hasPrefix("mmol") }.flatMap { unit($0, in: millimoles) }
        default: return nil
        }
    }
}
