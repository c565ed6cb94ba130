package question

// Alone returns the principals that may be allowed something of the question alone, each with
// a key: what decides on principals with the same key differs in the principal alone. All
// others are not allowed, and no rule denies them. The error is that of WhoCan.
func (a *Asker) Alone(q *Question) (map[string]string, error) {
	if err := a.prepare(q); err != nil {
		return nil, err
	}
	out := make(map[string]string)
	for p, own := range a.fit(q).by {
		key, isLike := a.likeness(q, own)
		if !isLike {
			key = p
		}
		out[p] = key
	}
	return out, q.err()
}
