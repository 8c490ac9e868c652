Gem::Specification.new do |spec|
  spec.name = "health_hub"
  spec.version = "1.3.0"
  spec.summary = "Gives records to a health hub, follows it, queries it, and writes plugins for it."
  spec.authors = ["The authors of health-hub"]
  spec.license = "Apache-2.0"
  spec.required_ruby_version = ">= 3.0"
  spec.add_runtime_dependency "ffi", "~> 1.15"
  spec.requirements << "libzmq 4.3 (Debian: libzmq5)"
  spec.require_paths = ["."]
  spec.files = Dir.chdir(__dir__) { Dir["health_hub.rb", "README.md", "LICENSE"] }
end
