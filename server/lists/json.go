package lists

import "github.com/writ-policy/writ/internal/elements"

// Page is a page as endpoints write it.
type Page struct {
	Question Question `json:"question"`
	Universe string   `json:"universe"`
	// ClusterScoped states that a request without a namespace is allowed.
	ClusterScoped bool       `json:"clusterScoped"`
	Items         []PageItem `json:"items"`
	Others        Condition  `json:"others"`
	// Total counts the items of all pages.
	Total int `json:"total"`
	// Next is the cursor of the rest, nil at the end.
	Next     *string `json:"next"`
	Until    *string `json:"until"`
	Revision string  `json:"revision"`
}

// PageItem is a namespace of a page.
type PageItem struct {
	Namespace string `json:"namespace"`
	// Names is "*", a list of names, or a Condition.
	Names any `json:"names"`
}

// Page returns the page as endpoints write it.
func (p *Part) Page() *Page {
	out := &Page{
		Question: p.Question, Universe: p.Universe, ClusterScoped: p.IsClusterScoped, Items: make([]PageItem, len(p.Items)),
		Others: p.Others, Total: len(p.List.Items), Until: p.Until, Revision: p.Of.Revision,
	}
	out.Question.Groups = elements.NotNil(out.Question.Groups)
	if p.Next != "" {
		out.Next = &p.Next
	}
	for i := range p.Items {
		out.Items[i] = PageItem{p.Items[i].Name, p.Items[i].NamesJSON()}
	}
	return out
}

// NamesJSON returns the names for which requests are allowed: "*", a []string, or a Condition.
func (i *Item) NamesJSON() any {
	switch {
	case i.Names.IsAny:
		return "*"
	case i.Names.List != nil:
		return i.Names.List
	}
	return i.namesOf()
}
