import CoreMetrics
import HTTPTypes
import Hummingbird
import PrometheusText

/// Counts each request by the pattern of its address, never by the address, and takes its time.
struct RequestMeter: RouterMiddleware {
    let registry: MetricRegistry

    func handle(
        _ request: Request, context: Visit, next: (Request, Visit) async throws -> Response
    ) async throws -> Response {
        let start = ContinuousClock.now
        let response = try await next(request, context)
        let time = (ContinuousClock.now - start).components
        // What no route takes is one, however it is spelled.
        let route = response.status == .notFound ? "other" : context.endpointPath ?? "other"
        let status = "\(response.status.code / 100)xx"
        Counter(
            label: "web_requests_total", dimensions: [("route", route), ("status", status)], factory: registry
        ).increment()
        Timer(label: "web_request_duration_seconds", dimensions: [("route", route)], factory: registry)
            .recordNanoseconds(time.seconds * 1_000_000_000 + time.attoseconds / 1_000_000_000)
        return response
    }
}
