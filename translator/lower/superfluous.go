package lower

import "github.com/writ-policy/writ/translator/document"

func (l *lowerer) superfluousKubernetes(*document.KubernetesRole, []KubernetesRule) {}
func (l *lowerer) superfluousOrigin(*document.OriginRole, []OriginRule)             {}
