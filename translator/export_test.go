package translator

// NewWith is New with another family beside those registered.
func NewWith(o Options, family func() Family) *Translator {
	return newTranslator(o, func() []Family { return append(registered(), family()) })
}
