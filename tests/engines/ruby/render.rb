# Renders templates with Ruby's Liquid until standard input ends, as javascript/render.cjs does.

require "json"
require "liquid"

# What ActiveSupport defines, which the applications of ESPs use: Liquid compares with `blank` by it.
class Object
  def blank?
    respond_to?(:empty?) ? !!empty? : !self
  end
end

class String
  def blank?
    match?(/\A[[:space:]]*\z/)
  end
end

# The filters of Customer.io that Liquid does not have.
module CustomerIo
  def titlecase(input)
    raise "the result is not established for #{input}" unless input.to_s.match?(/\A[a-z ]*\z/i)
    input.to_s.gsub(/[a-z]+/i, &:capitalize)
  end
end
Liquid::Template.register_filter(CustomerIo)

def render(template, context)
  template.instance_assigns.clear  # A template keeps the variables that it has set.
  # `render!` raises the errors that `render` writes into the text, such as "Liquid error: …".
  {text: template.render!(context)}
rescue StandardError => error
  {error: error.message}
end

def parse(source)
  Liquid::Template.parse(source, error_mode: :strict)
rescue Liquid::SyntaxError, Liquid::StackLevelError => error
  error
end

$stdout.sync = true
$stdin.set_encoding("UTF-8")
$stdin.each_line do |line|
  language, cases = JSON.parse(line)
  source = template = nil
  results = cases.map do |text, context|
    template = parse(source = text) unless source == text
    next {error: template.message} if template.is_a?(StandardError)
    language == "parse" ? {text: ""} : render(template, context)
  end
  puts JSON.generate(results)
end
