sub shown_for_tests {
    my ($value) = @_;
    return "undef" if !defined $value;
    if (ref $value eq "ARRAY") {
        return "[" . join(", ", map { shown_for_tests($_) } @$value) . "]";
    }
    if (ref $value eq "HASH") {
        my @items = map { "$_ => " . shown_for_tests($value->{$_}) } sort keys %$value;
        return "{" . join(", ", @items) . "}";
    }
    $value =~ s/([\\"])/\\$1/g;
    $value =~ s/\n/\\n/g;
    return "\"$value\"";
}
