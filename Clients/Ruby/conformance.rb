#!/usr/bin/env ruby
# The program that Tests/SystemTests/Interop/Programs/clients.py runs with this client library: give, follow, sink, query, calls, or a launched plugin.
require_relative "health_hub"

MANIFEST = {
  "name" => "conformance-ruby", "summary" => "Gives weights when it is asked to.", "version" => "1.0", "protocol" => [1],
  "writes" => ["weight"], "checksSettings" => true,
  "settings" => [{ "name" => "label", "type" => "string", "required" => true, "help" => "Begins the key of each record." }],
  "commands" => [{ "name" => "add", "help" => "Gives weights.", "args" => [
    { "name" => "count", "type" => "integer", "minimum" => 1, "maximum" => 1_000_000, "required" => true, "help" => "How many." }] }]
}.freeze

def say(value) = $stdout.puts(JSON.generate(value))

if ARGV[0]&.start_with?("--")
  objections = ->(settings) { settings["label"] == "bad" ? [{ "setting" => "label", "reason" => "the label is not to be bad" }] : [] }
  code = HealthHub.plugin(MANIFEST, objections) do |hub|
    exit 69 if hub.welcome["settings"]["label"] == "gone"
    hub.command("add") do |command|
      results = hub.give((0...command.args["count"]).map do |n|
        { "type" => "weight", "value" => 60 + n % 100 / 8.0, "unit" => "kg", "start" => "2026-01-05T06:00:00+01:00",
          "key" => "#{hub.welcome["settings"]["label"]}-#{n}" }
      end)
      { "stored" => results.count { |result| result["result"] == "stored" } }
    end
    hub.serve
    warn "stopped"
  end
  exit code
end

what, *arguments = ARGV
begin
  hub = HealthHub::Hub.new
  case what
  when "give"
    $stdin.each_line.lazy.map { |line| JSON.parse(line) }.each_slice(arguments[0].to_i) do |records|
      records.zip(hub.give(records)) { |record, result| say({ "key" => record["key"] }.merge(result)) }
      $stdout.flush
    end
  when "follow"
    hub.follow([arguments[0]], arguments[1]) do |record, place|
      say("place" => place, "record" => record)
      $stdout.flush
    end
  when "sink"
    hub.sink({ "want" => "all", "types" => [arguments[0]], "start" => "beginning" }) do |records|
      if arguments[1]
        say("paused" => records.size)
        $stdout.flush
        raise HealthHub::Pause.new(arguments[1].to_f, "the target is away")
      end
      records.each { |record| say("record" => record) }
      $stdout.flush
      records.map { |record| { "result" => "delivered", "receipt" => "line #{record["number"]}" } }
    end
    hub.serve
  when "query"
    question = JSON.parse(arguments[0])
    want = question.delete("want")
    hub.public_send(want, question) { |answer| say(answer) }
  when "calls"
    JSON.parse(arguments[0]).each do |name, body|
      say("answer" => hub.public_send(name == "putToken" ? "put_token" : name, body))
    rescue HealthHub::Error => error
      say("error" => error.code)
    ensure
      $stdout.flush
    end
  end
  hub.close
rescue HealthHub::Error => error
  warn error.message
  exit error.code == "protocol" ? 76 : 77
rescue Errno::EPIPE
  exit!
end
