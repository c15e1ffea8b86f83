use Scalar::Util ();
use overload ();

# Objects count by what they hold, unless they are texts by themselves.
sub plain_for_tests {
    my ($value) = @_;
    return "$value" if Scalar::Util::blessed($value) && overload::Method($value, '""');
    my $kind = Scalar::Util::reftype($value) // "";
    return [ map { plain_for_tests($_) } @$value ] if $kind eq "ARRAY";
    return { map { $_ => plain_for_tests($value->{$_}) } keys %$value } if $kind eq "HASH";
    return $value;
}
sub one_for_tests {
    return @_ == 1 ? plain_for_tests($_[0]) : { "(a list of " . @_ . " values)" => [@_] };
}
sub truth_for_tests {
    my ($value) = @_;
    return defined $value ? $value ? "true" : "false" : "undefined";
}
sub number_for_tests {
    my ($value) = @_;
    return Scalar::Util::looks_like_number($value) ? "number " . (0 + $value) : $value;
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
    my $value = plain_for_tests(@_);
    return ref $value ? "" : $value // "";
}

# What is in a line and has a further character after it is in this.
sub without_last_for_tests {
    return join "\n", map { substr $_, 0, -1 } split /\n/, $_[0];
}
