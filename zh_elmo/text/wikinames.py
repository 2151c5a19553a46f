"""The names that wikitext is read by: namespaces, languages, tags, templates, switches of MediaWiki and zhwiki."""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Links to these show a picture or nothing, where they stand; with a colon in front ([[:Category:甲]]) they are text.
_FILES = "file image 文件 檔案 档案 圖像 图像 圖片 图片 影像"
_CATEGORIES = "category 分类 分類"
# The editions of Wikipedia: [[en:Title]] is a link beside the page, not in it. `zh` is left out, it is the page's own.
_LANGUAGES = """
aa ab ace ady af ak als alt am ami an ang ann anp ar arc ary arz as ast atj av avk awa ay az azb ba ban bar bat-smg bbc
bcl bdr be be-tarask be-x-old bew bg bh bi bjn blk bm bn bo bpy br bs btm bug bxr ca cbk-zam cdo ce ceb ch cho chr chy
ckb co cr crh cs csb cu cv cy cz da dag de dga din diq dk dsb dtp dty dv dz ee el eml en eo es et eu ext fa fat ff fi
fiu-vro fj fo fon fr frp frr fur fy ga gag gan gcr gd gl glk gn gom gor got gpe gsw gu guc gur guw gv ha hak haw he hi
hif ho hr hsb ht hu hy hyw hz ia iba id ie ig igl ii ik ilo inh io is it iu ja jam jbo jp jv ka kaa kab kbd kbp kcg kg
kge ki kj kk kl km kn knc ko koi kr krc ks ksh ku kus kv kw ky la lad lb lbe lez lfn lg li lij lld lmo ln lo lrc lt ltg
lv lzh mad mai map-bms mdf mg mh mhr mi min mk ml mn mni mnw mo mos mr mrj ms mt mus mwl my myv mzn na nah nan nap nds
nds-nl ne new ng nia nl nn no nov nqo nr nrm nso nv ny oc olo om or os pa pag pam pap pcd pcm pdc pfl pi pih pl pms pnb
pnt ps pt pwn qu rm rmy rn ro roa-rup roa-tara rsk ru rue rup rw sa sah sat sc scn sco sd se sg sgs sh shi shn si
simple sk skr sl sm smn sn so sq sr srn ss st stq su sv sw szl szy ta tay tcy tdd te tet tg th ti tig tk tl tly tn to
tpi tr trv ts tt tum tw ty tyv udm ug uk ur uz ve vec vep vi vls vo vro wa war wo wuu xal xh xmf yi yo yue za zea zgh
zh-classical zh-min-nan zh-yue zu
"""
HIDDEN = _names(f"{_FILES} {_CATEGORIES} {_LANGUAGES}")

# Tags whose content is not wikitext, and not text of the page either.
DROPPED = _names(
    "categorytree ce charinsert chem gallery graph hiero imagemap includeonly indicator inputbox mapframe maplink math "
    "phonos ref references rp rt rtc score script source style syntaxhighlight section templatedata templatestyles "
    "timeline"
)
VERBATIM = frozenset(["nowiki", "pre"])  # content that is shown as it stands
# Tags that begin or end a line of text.
BLOCK = _names(
    "article aside blockquote br caption center col colgroup dd details div dl dt figcaption figure h1 h2 h3 h4 h5 h6 "
    "hr li ol p poem summary tbody td tfoot th thead tr ul"
)
# Tags within a line; every other name between < and > is text, as MediaWiki shows it.
INLINE = _names(
    "abbr b bdi bdo big cite code data del dfn em font i ins kbd langconvert mark noinclude onlyinclude q rb ruby s "
    "samp small span strike strong sub sup time tt u var wbr"
)

AS_WRITTEN = _names("NOCONTENTCONVERT NOCC 不转换内容 不轉換內容")  # the page is in the script that it is to be in
SWITCHES = AS_WRITTEN | _names(
    "NOTOC FORCETOC TOC NOEDITSECTION NEWSECTIONLINK NONEWSECTIONLINK NOGALLERY HIDDENCAT EXPECTUNUSEDCATEGORY INDEX "
    "NOINDEX STATICREDIRECT DISAMBIG NOTITLECONVERT NOTC 无目录 無目錄 强制目录 強制目錄 目录 目錄 无编辑段落 "
    "無編輯段落 无段落编辑 新段落链接 新段落連結 无图库 無圖庫 隐藏分类 隱藏分類 索引 不索引 静态重定向 靜態重新導向 "
    "消歧义 消歧義 不转换标题 不轉換標題"
)

# Templates that stand for words of the sentence around them, and which argument is shown (the first that is there).
_SHOWN = {
    "lang": "2", "langx": "2", "lj": "1", "ruby": "1", "abbr": "1", "color": "2",
    "nowrap": "1", "nobr": "1", "small": "1", "big": "1",
    "le": "31", "ilh": "31", "tsl": "43",
}  # fmt: skip
_SHOWN_BEFORE_HYPHEN = {"lang": "1", "link": "31"}  # {{lang-en|Alan Turing}}, {{link-en|甲|A}}


def shown(template: str) -> str:
    """The numbers of the arguments that `template` (lower case) may show, best first; empty for most templates."""
    return _SHOWN.get(template) or _SHOWN_BEFORE_HYPHEN.get(template.partition("-")[0], "") * ("-" in template)
