sub one_for_tests {
    return @_ == 1 ? $_[0] : { "(a list of " . @_ . " values)" => [@_] };
}
sub truth_for_tests {
    return "a list of " . @_ . " values" if @_ != 1;
    return defined $_[0] ? $_[0] ? "true" : "false" : "undefined";
}
sub number_for_tests {
    require Scalar::Util;
    return one_for_tests(@_) if @_ != 1 || !Scalar::Util::looks_like_number($_[0]);
    return "number " . (0 + $_[0]);
}
sub lives_for_tests {
    my ($body) = @_;
    return eval { $body->(); 1 } ? "lives" : "dies";
}
sub thrown_for_tests {
    my ($body) = @_;
    return eval { $body->(); 1 } ? "" : "$@";
}
sub text_for_tests {
    return @_ == 1 && defined $_[0] ? "$_[0]" : "";
}

# What is in a line and has a further character after it is in this.
sub without_last_for_tests {
    return join "\n", map { substr $_, 0, -1 } split /\n/, $_[0];
}
