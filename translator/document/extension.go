package document

import "github.com/writ-policy/writ/translator/diag"

func decodeExtension(file string, content []byte) ([]Document, diag.List) { return nil, nil }
