"""Names of languages in the names of UD treebanks, and the codes that begin the names of their files."""

from __future__ import annotations

_TABLE = """
Abaza abq, Abkhaz ab, Afrikaans af, Akkadian akk, Akuntsu aqz, Albanian sq, Amharic am, Ancient_Greek grc,
Ancient_Hebrew hbo, Apurina apu, Arabic ar, Armenian hy, Assyrian aii, Azerbaijani az, Bambara bm, Basque eu,
Bavarian bar, Beja bej, Belarusian be, Bengali bn, Bhojpuri bho, Bokota sab, Bororo bor, Breton br, Bulgarian bg,
Buryat bxr, Cantonese yue, Cappadocian cpg, Catalan ca, Cebuano ceb, Chinese zh, Chukchi ckt,
Classical_Armenian xcl, Classical_Chinese lzh, Coptic cop, Croatian hr, Czech cs, Danish da, Dargwa dar, Dutch nl,
Egyptian egy, English en, Erzya myv, Esperanto eo, Estonian et, Faroese fo, Finnish fi, French fr,
Frisian_Dutch qfn, Galician gl, Georgian ka, German de, Gheg aln, Gothic got, Greek el, Guajajara gub, Guarani gn,
Gujarati gu, Gwichin gwi, Haitian_Creole ht, Hausa ha, Hebrew he, Highland_Puebla_Nahuatl azz, Hindi hi,
Hindi_English qhe, Hittite hit, Hungarian hu, Icelandic is, Indonesian id, Irish ga, Italian it, Japanese ja,
Javanese jv, Kaapor urb, Kangri xnr, Kannada kn, Karelian krl, Karo arr, Kazakh kk, Khunsari kfm, Kiche quc,
Komi_Permyak koi, Komi_Zyrian kpv, Korean ko, Kurmanji kmr, Kyrgyz ky, Latgalian ltg, Latin la, Latvian lv,
Ligurian lij, Lithuanian lt, Livvi olo, Low_Saxon nds, Luxembourgish lb, Macedonian mk, Madi jaa,
Maghrebi_Arabic_French qaf, Makurap mpu, Malayalam ml, Maltese mt, Mandyali mjl, Manx gv, Marathi mr,
Mbya_Guarani gun, Middle_French frm, Moksha mdf, Munduruku myu, Naija pcm, Nayini nyq, Neapolitan nap,
Nheengatu yrl, North_Sami sme, Northwest_Gbaya gya, Norwegian no, Odia or, Old_Church_Slavonic cu,
Old_East_Slavic orv, Old_French fro, Old_Irish sga, Old_Russian orv, Old_Turkish otk, Ottoman_Turkish ota,
Paumari pad, Persian fa, Pesh pay, Phrygian xpg, Pnar pbv, Polish pl, Pomak qpm, Portuguese pt, Romanian ro,
Romansh rm, Russian ru, Sanskrit sa, Scottish_Gaelic gd, Serbian sr, Shipibo_Konibo shp, Sindhi sd, Sinhala si,
Skolt_Sami sms, Slovak sk, Slovenian sl, Soi soj, Somali so, Sorani ckb, South_Levantine_Arabic ajp, Spanish es,
Spanish_Sign_Language ssp, Swedish sv, Swedish_Sign_Language swl, Swiss_German gsw, Tagalog tl, Tamil ta, Tatar tt,
Teko eme, Telugu te, Telugu_English qte, Thai th, Tupinamba tpn, Turkish tr, Turkish_English qti,
Turkish_German qtd, Ukrainian uk, Umbrian xum, Upper_Sorbian hsb, Urdu ur, Uyghur ug, Uzbek uz, Veps vep,
Vietnamese vi, Warlpiri wbp, Welsh cy, Western_Armenian hyw, Western_Sierra_Puebla_Nahuatl nhi, Wolof wo,
Xavante xav, Xibe sjo, Yakut sah, Yoruba yo, Yupik ess, Zaar say
"""
CODES = {(pair := entry.split())[0]: pair[1] for entry in _TABLE.split(",")}
