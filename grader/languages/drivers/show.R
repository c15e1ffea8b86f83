shown_for_tests <- function(value) {
    if (is.null(value)) return("NULL")
    if (is.function(value) || is.environment(value)) return(class(value)[1])
    if (is.factor(value)) value <- as.character(value)
    if (is.list(value)) {
        items <- vapply(value, shown_for_tests, "")
        if (!is.null(names(value))) items <- paste(encodeString(names(value)), items, sep = " = ")
        return(paste0("list(", paste(items, collapse = ", "), ")"))
    }
    if (is.character(value)) {
        items <- encodeString(value, quote = '"')
    } else if (is.numeric(value)) {
        whole <- is.finite(value) & value == round(value) & abs(value) < 1e15
        # The two zeros are equal.
        items <- sprintf(as.character(ifelse(whole, "%.0f", "%.12g")), value + 0)
    } else {
        items <- as.character(value)
    }
    items[is.na(value)] <- "NA"
    shape <- if (length(dim(value)) > 1) paste(" of", paste(dim(value), collapse = " x ")) else ""
    paste0("c(", paste(items, collapse = ", "), ")", shape)
}
