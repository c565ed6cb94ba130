package diag

// acceptExplanations explain warnings about what silences warnings.
var acceptExplanations = []Explanation{
	{
		Code: BadAcceptance, Severity: Warning,
		Summary: "a comment does not accept a warning as it is written",
		Text: `A comment accepts the warnings of a code on its line, or on the next line if it is alone, and needs
a code that exists and a reason. Errors, findings about the author of a change, and warnings about
acceptances cannot be accepted.`,
		Example: `# writ:ignore risk-exec`,
		Instead: `# writ:ignore risk-exec the on-call team debugs pods here`,
	},
	{
		Code: ExpiredAcceptance, Severity: Warning,
		Summary: "the day until which a warning is accepted is over",
		Text: `The acceptance in .writ.yaml silences nothing since then, so that the finding is reviewed again.
Days are those of UTC, and the day itself counts.`,
		Example: `accepted: [{code: risk-exec, path: shop/, until: 2020-01-31, reason: "until the migration"}]`,
		Instead: `accepted: [{code: risk-exec, path: shop/, until: 2099-01-31, reason: "until the migration"}]`,
	},
	{
		Code: UnusedAcceptance, Severity: Warning,
		Summary: "a warning is accepted that is not found",
		Text: `The finding is gone, or has moved to another document, and the acceptance would silence the next
one unseen. Remove the comment or the item of .writ.yaml, or write the baseline again. Errors are
never silenced. writ check does not report acceptances of what only writ lint finds, and neither
command reports any while the documents have errors or if it reads single files.`,
	},
}
