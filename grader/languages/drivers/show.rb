def shown_for_tests(value)
  case value
  when Array then "[#{value.map { |each| shown_for_tests(each) }.join(", ")}]"
  when Hash
    pairs = value.map { |key, each| "#{shown_for_tests(key)}=>#{shown_for_tests(each)}" }
    "{#{pairs.sort.join(", ")}}"
  when Float then value.finite? && value == value.to_i ? value.to_i.to_s : value.inspect
  else value.inspect
  end
end
