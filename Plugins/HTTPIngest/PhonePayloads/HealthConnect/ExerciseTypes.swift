import Samples

/// Maps Health Connect's `exerciseType` to the hub's activity.
enum ExerciseTypes {
    /// The activity; `other` for a number that is newer than this table.
    static func activity(_ type: Int) -> WorkoutActivity? {
        WorkoutActivity.activity(raw: activities[type] ?? 3_000)
    }

    private static let activities: [Int: Int] = Dictionary(
        uniqueKeysWithValues: table.split(whereSeparator: \.isWhitespace).compactMap { entry in
            let parts = entry.split(separator: "=").compactMap { Int($0) }
            return parts.count == 2 ? (parts[0], parts[1]) : nil
        })

    /// Health Connect's number, and the raw number of HealthKit's activity.
    private static let table = """
        0=3000 1=20 2=4 3=20 4=5 5=6 6=20 7=20 8=13 9=13 10=63 11=8
        12=20 13=20 14=10 15=20 16=78 17=20 18=20 19=20 20=20 21=20 22=20 23=20
        24=20 25=16 26=3000 27=18 28=1 29=3 30=20 31=75 32=21 33=29 34=22 35=23
        36=63 37=24 38=25 39=39 40=20 41=64 42=20 43=20 44=28 46=31 47=3000 48=66
        49=20 50=34 51=9 52=25 53=35 54=35 55=36 56=37 57=37 58=38 59=84 60=39
        61=61 62=67 63=40 64=41 65=42 66=43 67=20 68=44 69=44 70=50 71=62 72=45
        73=46 74=46 75=47 76=48 77=20 78=51 79=52 80=54 81=50 82=70 83=57
        """
}
