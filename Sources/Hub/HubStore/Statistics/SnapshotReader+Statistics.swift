import GRDB
import Samples

extension SnapshotReader {
    /// The maximum number of samples per step.
    ///
    /// More are read in several stretches, unless these are too short, so that each step takes milliseconds.
    private static let samplesAtOnce = 4_000

    /// Continues the computation, for about the time of one page.
    func advance(_ walk: inout StatisticsWalk, within duration: Duration = PageTimeLimit.usual.duration) throws {
        guard !walk.isOver else { return }
        let end = ContinuousClock.now + duration
        if walk.query.reportsThinned, walk.query.first == nil, walk.course == nil {
            walk.thinned = try ThinnedDays(walk.query, in: db)
        }
        guard let readings = try StatisticsReadings(walk.query, self) else {
            (walk.isOver, walk.next) = (true, nil)
            return
        }
        var course: StatisticsWalk.Course
        if let begun = walk.course {
            course = begun
        } else {
            guard let begun = try begin(walk.query, readings) else {
                (walk.isOver, walk.next) = (true, nil)
                return
            }
            course = begun
        }
        repeat { try step(&walk, &course, readings) } while !walk.isOver && ContinuousClock.now < end
        walk.course = course
    }

    private func begin(_ query: StatisticsQuery, _ readings: StatisticsReadings) throws -> StatisticsWalk.Course? {
        guard let extent = try readings.extent() else { return nil }
        let from = query.from ?? .min
        let place = max(query.first ?? extent.lowerBound, from)
        let end = min(extent.upperBound, query.to ?? .max)
        guard place < end else { return nil }
        guard let intervals = query.intervals else {
            var course = StatisticsWalk.Course(place: place, end: end, number: 0, reported: 0, hasBegun: true)
            // Stored figures of an hour do not show the end of samples that began before.
            if query.from != nil, let reach = try readings.reach(over: place) { course.reach = reach }
            return course
        }
        let number = intervals.number(of: place)
        return .init(place: place, end: end, number: number, reported: number, hasBegun: query.first != nil)
    }

    /// Processes the next stretch of time.
    private func step(
        _ walk: inout StatisticsWalk, _ course: inout StatisticsWalk.Course, _ readings: StatisticsReadings
    ) throws {
        let (query, intervals) = (walk.query, walk.query.intervals)
        var end = min(course.end, course.place + course.stride)
        if let rolled = readings.rolled, course.place >= readings.rolledFrom {
            let border = intervals?.border(course.number + 1) ?? .max
            switch try rolled.stretch(from: course.place, to: min(course.end, border)) {
            case .kept(let hour, let until):
                let figures = try readings.figures(hour)
                course.figures.add(figures)
                course.place = until
                if course.isFull, !figures.isEmpty {
                    walk.isOver = true
                    return
                }
                if let latest = figures.total.latest { course.reach = max(course.reach, latest.end, latest.start + 1) }
                if border <= until { try close(&walk, &course, readings) }
                if !walk.isOver, figures.isEmpty { try skip(&walk, &course, readings) }
                return try finish(&walk, &course, readings)
            case .unknown(let until): end = min(end, until)
            }
        }
        // Compute no more intervals than fit in the answer.
        let room = max(1, query.limit - walk.rows.count)
        var borders = [course.place]
        if let intervals {
            while borders.count <= room {
                let border = intervals.border(course.number + borders.count)
                guard border < end else { break }
                borders.append(border)
            }
        }
        if borders.count <= room { borders.append(end) }
        guard let (parts, count, looked) = try readings.figures(borders, most: Self.samplesAtOnce) else {
            course.stride = max(StatisticsWalk.Course.strides.lowerBound, course.stride / 8)
            return
        }
        for (place, part) in parts.enumerated() {
            if let latest = part.total.latest { course.reach = max(course.reach, latest.end, latest.start + 1) }
            course.figures.add(part)
            course.place = borders[place + 1]
            if course.isFull, !part.isEmpty {
                walk.isOver = true
                return
            }
            guard let intervals, intervals.border(course.number + 1) <= course.place else { continue }
            try close(&walk, &course, readings)
            if walk.isOver { return }
        }
        if count == 0 {
            try skip(&walk, &course, readings)
            if walk.isOver { return }
        } else {
            course.search = nil
            if looked < Self.samplesAtOnce / 4 {
                course.stride = min(StatisticsWalk.Course.strides.upperBound, course.stride * 2)
            }
        }
        try finish(&walk, &course, readings)
    }

    /// Ends the answer if nothing is left.
    private func finish(
        _ walk: inout StatisticsWalk, _ course: inout StatisticsWalk.Course, _ readings: StatisticsReadings
    ) throws {
        guard !walk.isOver, course.place >= course.end else { return }
        try close(&walk, &course, readings)
        if !walk.isOver { (walk.isOver, walk.next) = (true, nil) }
    }

    /// Skips to the next data.
    private func skip(
        _ walk: inout StatisticsWalk, _ course: inout StatisticsWalk.Course, _ readings: StatisticsReadings
    ) throws {
        let next = try next(&course, readings)
        if course.isFull, let first = course.search?.first, first < course.end {
            walk.isOver = true
            return
        }
        guard next > course.place else { return }
        if let intervals = walk.query.intervals, intervals.border(course.number + 1) <= next {
            try close(&walk, &course, readings)
            if walk.isOver { return }
            course.number = intervals.number(of: next)
        }
        // Start at the beginning of the hour, because its figures may be stored.
        let begin = walk.query.intervals?.border(course.number) ?? .min
        course.place = max(course.place, begin, readings.rolled?.hour(of: next) ?? next)
    }

    /// The start of the next requested sample.
    ///
    /// It may be earlier if many samples of other sources precede it and it is not found yet.
    private func next(_ course: inout StatisticsWalk.Course, _ readings: StatisticsReadings) throws -> Int64 {
        let next = try readings.start(from: course.place)
        guard let next, !next.isAsked else {
            course.search = nil
            return min(next?.time ?? course.end, course.end)
        }
        var search = course.search ?? SourceSearch(from: course.place)
        guard try readings.look(&search) else {
            course.search = search
            return min(next.time, course.end)
        }
        course.search = nil
        return min(search.first ?? course.end, course.end)
    }

    /// Closes the current interval once it is over or no more data can belong to it.
    private func close(
        _ walk: inout StatisticsWalk, _ course: inout StatisticsWalk.Course, _ readings: StatisticsReadings
    ) throws {
        let (figures, number) = (course.figures, course.number)
        course.figures = Figures()
        course.number += 1
        guard !figures.isEmpty, !course.isFull else { return }
        let query = walk.query
        guard let intervals = query.intervals else {
            let from = query.from ?? figures.total.first ?? course.place
            let to = query.to ?? max(course.reach, from + 1)
            walk.rows = [try readings.row(figures, from: from, to: to)]
            return
        }
        if !course.hasBegun { (course.hasBegun, course.reported) = (true, number) }
        while course.reported <= number, walk.rows.count < query.limit {
            let from = max(intervals.border(course.reported), query.from ?? .min)
            let to = min(intervals.border(course.reported + 1), query.to ?? .max)
            let isEmpty = course.reported < number
            walk.rows.append(try readings.row(isEmpty ? Figures() : figures, from: from, to: to))
            course.reported += 1
        }
        walk.next = intervals.border(course.reported)
        guard walk.rows.count == query.limit else { return }
        // The page is full, and there may or may not be more.
        if course.reported <= number || !query.reportsNext { walk.isOver = true } else { course.isFull = true }
    }
}
