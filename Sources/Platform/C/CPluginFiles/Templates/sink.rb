#!/usr/bin/env ruby
# The plugin @NAME@ of a health hub: writes each record of the type @TYPE@ into a file. README.md says how.
#
# The program keeps no state: the hub knows which records were delivered, and repeats those without an answer.
require "digest"
require_relative "health_hub"

MANIFEST = {
  "name" => "@NAME@", "summary" => "Writes records of @TYPE@ into a folder.", "version" => "1.0",
  "reads" => ["@TYPE@"], "sink" => {},
  "settings" => [
    { "name" => "folder", "type" => "path", "required" => true, "access" => "folder",
      "help" => "The folder of the records, a file of one line for each." }
  ]
}.freeze

# The file's name, made from the record's identity: the same for all its versions and its retraction.
def file_of(record)
  identity = [*record["source"].values_at("plugin", "device", "account").map(&:to_s), record["key"]]
  "#{Digest::SHA256.hexdigest(identity.join("\n"))[0, 32]}.json"
end

# Writes the record into the folder, or removes it for a retraction; a repetition changes nothing.
def store(folder, record)
  path = File.join(folder, file_of(record))
  if record["kind"] == "retraction"
    File.delete(path) if File.exist?(path)
    return
  end
  File.open("#{path}.new", "w") do |file|
    file.puts(JSON.generate(record))
    file.fsync
  end
  File.rename("#{path}.new", path)
end

code = HealthHub.plugin(MANIFEST) do |hub|
  folder = hub.welcome["settings"]["folder"]
  hub.sink({ "want" => "records", "types" => ["@TYPE@"], "start" => "beginning" }) do |records|
    begin
      records.each { |record| store(folder, record) }
      File.open(folder, &:fsync) # the names in it too
      records.map { { "result" => "delivered" } }
    rescue SystemCallError => error
      # Never log a person's values.
      warn "#{folder}: #{error.class.name}"
      raise HealthHub::Pause.new(60, error.class.name) # the hub pauses the subscription, then repeats these records
    end
  end
  hub.serve
end
exit code
