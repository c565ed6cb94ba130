package decision

// For returns the decision as an answer to r, a request that the same rules match as the
// request it was made for: the reason that no rule allows a request repeats values of the
// request.
func (d Decision) For(r *Request) Decision {
	if !d.Allowed && !d.Denied && len(d.Matched) == 0 && d.EvaluationError == "" {
		d.Reason = NoRuleReason(r)
	}
	return d
}

// NoRuleReason is the reason of a decision if no rule matches r.
func NoRuleReason(r *Request) string {
	const none = "not allowed: no rule allows "
	switch {
	case r.Path != "":
		return none + r.Verb + " " + r.Path
	case r.Subresource != "" && r.Namespace != "":
		return none + r.Verb + " " + r.Resource + "/" + r.Subresource + " in " + r.Namespace
	case r.Subresource != "":
		return none + r.Verb + " " + r.Resource + "/" + r.Subresource + " at cluster scope"
	case r.Namespace != "":
		return none + r.Verb + " " + r.Resource + " in " + r.Namespace
	}
	return none + r.Verb + " " + r.Resource + " at cluster scope"
}
